/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Where the kernels' headers differ. No version is asked for: features.sh compiles a few
 * lines for each feature, and Kbuild passes what it finds. The numbers below say since when
 * Linux has a feature; older kernels may have it too.
 */
#ifndef WELLSPRING_COMPAT_H
#define WELLSPRING_COMPAT_H

#include <crypto/aes.h>
#include <crypto/chacha.h>
#include <crypto/sha2.h>
#include <linux/hrtimer.h>
#include <linux/syscore_ops.h>

#ifndef WS_FEATURES
#error "features.sh failed, see its message above"
#endif

/* A word at any address. <linux/unaligned.h> has been another file before 6.12. */
typedef u64 __aligned(1) ws_unaligned_u64;

/* 6.17: the state of a SHA-256 has a type of its own. */
#ifndef WS_HAS_SHA256_CTX
#define sha256_ctx sha256_state
#endif

/*
 * 6.16: so does the state of a ChaCha, which was an array before. A pointer to
 * void fits both.
 */
struct ws_chacha_state {
	u32 x[CHACHA_STATE_WORDS];
};

static inline void ws_chacha20_block(struct ws_chacha_state *state, u8 *block)
{
	chacha20_block((void *)state, block);
}

/* 7.0: a key that only encrypts has a type of its own, half the size, and others were renamed. */
#ifdef WS_HAS_AES_ENCKEY
#define ws_aes_round_keys(key) ((key)->k.rndkeys)
#define ws_aes_inverse_keys(key) ((key)->inv_k.inv_rndkeys)
#define ws_aes_rounds(key) ((key)->nrounds)
#else
#define aes_enckey crypto_aes_ctx
#define aes_prepareenckey aes_expandkey
#define aes_key crypto_aes_ctx
#define aes_preparekey aes_expandkey
#define ws_aes_round_keys(key) ((key)->key_enc)
#define ws_aes_inverse_keys(key) ((key)->key_dec)
#define ws_aes_rounds(key) (6 + (key)->key_length / 4)
#endif

/* 6.13: the namespace of exported symbols is a string. */
#ifdef WS_HAS_TOKEN_NAMESPACE
#define WS_NAMESPACE WELLSPRING_INTERNAL
#else
#define WS_NAMESPACE "WELLSPRING_INTERNAL"
#endif

/* 6.5: files without a page cache splice through a copy. */
#ifdef WS_HAS_COPY_SPLICE_READ
#define ws_splice_read copy_splice_read
#else
#define ws_splice_read generic_file_splice_read
#endif

/*
 * WS_DEFINE_RESUME(function): a function that runs first of all after a resume.
 * 6.19, 6.18.52 and 6.12.115: system core operations have an argument.
 */
#ifdef WS_HAS_SYSCORE
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
#ifdef WS_HAS_HRTIMER_SETUP
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

#endif
