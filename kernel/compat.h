/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Where kernels from 6.1 to 7.3 differ. Apart from this file only testing.h asks for a
 * version.
 */
#ifndef WELLSPRING_COMPAT_H
#define WELLSPRING_COMPAT_H

#include <crypto/aes.h>
#include <crypto/chacha.h>
#include <crypto/sha2.h>
#include <linux/hrtimer.h>
#include <linux/syscore_ops.h>
#include <linux/uio.h>
#include <linux/version.h>

/*
 * 6.16: kernel_fpu_begin() disables softirqs. With PREEMPT_RT softirqs run in threads,
 * which cannot interrupt a section, because a section switches preemption off; and
 * local_bh_disable() takes a lock that may sleep.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0) || defined(CONFIG_PREEMPT_RT)
#define WS_SECTION_HOLDS_SOFTIRQS true
#else
#define WS_SECTION_HOLDS_SOFTIRQS false
#endif

/* 6.17: the state of a SHA-256 got a type of its own. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define sha256_ctx sha256_state
#endif

/* 6.16: so did that of a ChaCha. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
struct chacha_state {
	u32 x[CHACHA_STATE_WORDS];
};

static inline void ws_chacha20(struct chacha_state *state, u8 *data,
			       unsigned int bytes)
{
	chacha20_crypt(state->x, data, data, bytes);
}

static inline void ws_chacha20_block(struct chacha_state *state, u8 *block)
{
	chacha20_block(state->x, block);
}
#else
static inline void ws_chacha20(struct chacha_state *state, u8 *data,
			       unsigned int bytes)
{
	chacha20_crypt(state, data, data, bytes);
}

static inline void ws_chacha20_block(struct chacha_state *state, u8 *block)
{
	chacha20_block(state, block);
}
#endif

/* 7.0: a key that only encrypts has a type of its own, half the size. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define aes_enckey crypto_aes_ctx
#define aes_prepareenckey aes_expandkey

static inline const u32 *ws_aes_round_keys(const struct aes_enckey *key)
{
	return key->key_enc;
}
#else
static inline const u32 *ws_aes_round_keys(const struct aes_enckey *key)
{
	return key->k.rndkeys;
}
#endif

/* 6.5: files without a page cache splice through a copy. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define ws_splice_read copy_splice_read
#else
#define ws_splice_read generic_file_splice_read
#endif

/* 6.6: a single piece of user memory no longer needs a vector. */
static inline int ws_import_user(void __user *memory, size_t bytes,
				 struct iovec *vector, struct iov_iter *iter)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return import_ubuf(ITER_SOURCE, memory, bytes, iter);
#else
	return import_single_range(ITER_SOURCE, memory, bytes, vector, iter);
#endif
}

/*
 * WS_DEFINE_RESUME(function): a function that runs first of all after a resume.
 * 6.19: system core operations got an argument.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
#define WS_DEFINE_RESUME(function)					\
static void ws_resume(void *unused) { function(); }			\
static const struct syscore_ops ws_resume_ops = { .resume = ws_resume }; \
static struct syscore ws_resume_core = { .ops = &ws_resume_ops }
#define ws_register_resume() register_syscore(&ws_resume_core)
#define ws_unregister_resume() unregister_syscore(&ws_resume_core)
#else
#define WS_DEFINE_RESUME(function) \
static struct syscore_ops ws_resume_ops = { .resume = function }
#define ws_register_resume() register_syscore_ops(&ws_resume_ops)
#define ws_unregister_resume() unregister_syscore_ops(&ws_resume_ops)
#endif

/* 6.13: a timer is set up in one step. */
static inline void ws_hrtimer_setup(struct hrtimer *timer,
				    enum hrtimer_restart (*function)(struct hrtimer *),
				    clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

#endif
