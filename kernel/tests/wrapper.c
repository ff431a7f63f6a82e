// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * AES-XTS in a task on Linux 6.12: a cipher called directly, the same cipher by crypto/simd.c, and by the worker to which
 * crypto/simd.c gives what it cannot do at once. wrapper.sh builds it, for User Mode Linux.
 *
 * The kernel's wrapper asks may_use_simd(), which is a constant in User Mode Linux. A second copy of it asks as x86 does,
 * by a call through a pointer, as calls between modules are there: it costs a little more than on a real kernel, and the
 * first one a little less.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <asm/cpufeature.h>
#include <crypto/cryptd.h>
#include <crypto/internal/simd.h>
#include <crypto/internal/skcipher.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "wrapper.h"

#define MESSAGES 400
#define MOST_ROUNDS 1001
#define OURS "xts-aes-wellspring"

enum way {
	DIRECT,
	WRAPPED,	/* by the kernel's crypto/simd.c */
	WRAPPED_X86,	/* by the copy with x86's check */
	WORKER,
	WAYS,
};

static const unsigned int lens[] = { 16, 64, 512, 4096 };

static int rounds = 101;
module_param(rounds, int, 0);
MODULE_PARM_DESC(rounds, "Turns of 400 messages whose median is printed, at most 1001");

static u32 hundredths[WAYS][MOST_ROUNDS];	/* of a ns a message */
static u32 best[ARRAY_SIZE(lens)];		/* of the kernel's ciphers, called directly */

/* As x86 has them before 6.16, without the XSAVE of a task's registers. */

static DEFINE_PER_CPU(bool, in_section);

bool irq_fpu_usable(void)
{
	if (in_nmi() || this_cpu_read(in_section))
		return false;
	return !in_hardirq() || !softirq_count();
}

void kernel_fpu_begin(void)
{
	static const u32 initial_mxcsr = 0x1f80;

	preempt_disable();
	WARN_ON_ONCE(!irq_fpu_usable());
	this_cpu_write(in_section, true);
	asm volatile("ldmxcsr %0" : : "m" (initial_mxcsr));
}

void kernel_fpu_end(void)
{
	this_cpu_write(in_section, false);
	preempt_enable();
}

/* A caller of one cipher. */
struct caller {
	struct crypto_skcipher *cipher;
	struct cryptd_skcipher *worker;
	struct skcipher_request *request;
	struct crypto_wait wait;
	struct scatterlist list;
	u8 iv[16];
	u8 *bytes;
};

static int caller_init(struct caller *caller, enum way way, const char *name, u32 flags)
{
	static const u8 key[64] = { 1, [32] = 2 };

	if (way == WORKER) {
		caller->worker = cryptd_alloc_skcipher(name, flags, flags);
		if (IS_ERR(caller->worker))
			return PTR_ERR(caller->worker);
		caller->cipher = &caller->worker->base;
	} else {
		caller->cipher = crypto_alloc_skcipher(name, flags, flags);
		if (IS_ERR(caller->cipher))
			return PTR_ERR(caller->cipher);
	}
	caller->request = skcipher_request_alloc(caller->cipher, GFP_KERNEL);
	caller->bytes = (u8 *)get_zeroed_page(GFP_KERNEL);
	if (!caller->request || !caller->bytes)
		return -ENOMEM;
	crypto_init_wait(&caller->wait);
	return crypto_skcipher_setkey(caller->cipher, key, sizeof(key));
}

static void caller_exit(struct caller *caller)
{
	skcipher_request_free(caller->request);
	free_page((unsigned long)caller->bytes);
	if (caller->worker)
		cryptd_free_skcipher(caller->worker);
	else
		crypto_free_skcipher(caller->cipher);
}

/* Each message has a new request, as a caller's has. Returns hundredths of a ns a message. */
static u32 turn(struct caller *caller, unsigned int len, int *error)
{
	u64 since = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < MESSAGES; i++) {
		sg_init_one(&caller->list, caller->bytes, len);
		skcipher_request_set_callback(caller->request, CRYPTO_TFM_REQ_MAY_SLEEP | CRYPTO_TFM_REQ_MAY_BACKLOG,
					      crypto_req_done, &caller->wait);
		skcipher_request_set_crypt(caller->request, &caller->list, &caller->list, len, caller->iv);
		*error = crypto_wait_req(crypto_skcipher_encrypt(caller->request), &caller->wait) ?: *error;
	}
	return div_u64((ktime_get_ns() - since) * 100, MESSAGES);
}

static int compare(const void *a, const void *b)
{
	u32 first = *(const u32 *)a, second = *(const u32 *)b;

	return first < second ? -1 : first > second;
}

static u32 median(enum way way)
{
	sort(hundredths[way], rounds, sizeof(u32), compare, NULL);
	return hundredths[way][rounds / 2];
}

#define NS(value) (value) / 100, (value) % 100 / 10
#define PER_CENT(more, than) ((int)(more) - (int)(than)) * 100 / (int)(than)

/* The ways take turns, and each is the first of a round as often as any other. */
static int measure(struct caller callers[WAYS], const char *name, bool is_ours)
{
	unsigned int size;
	int error = 0, round, way;

	for (size = 0; size < ARRAY_SIZE(lens); size++) {
		u32 direct, wrapped, wrapped_x86, worker;

		for (round = 0; round < rounds; round++)
			for (way = 0; way < WAYS; way++) {
				int now = (way + round) % WAYS;

				hundredths[now][round] = turn(&callers[now], lens[size], &error);
			}
		direct = median(DIRECT);
		wrapped = median(WRAPPED);
		wrapped_x86 = median(WRAPPED_X86);
		worker = median(WORKER);
		pr_info("%-22s %5u %6u.%u %6u.%u %6u.%u %7u.%u   %+d to %+d %%\n", name, lens[size], NS(direct),
			NS(wrapped), NS(wrapped_x86), NS(worker), PER_CENT(wrapped, direct), PER_CENT(wrapped_x86, direct));
		if (!is_ours)
			best[size] = min_not_zero(best[size], direct);
		else if (best[size])	/* A CPU without AVX runs none of them. */
			pr_info("%-22s %5u bytes take %u.%02u of the time of the kernel's best\n", name, lens[size],
				direct / best[size], direct % best[size] * 100 / best[size]);
	}
	return error;
}

/* Each caller has encrypted as many messages of each length with the same key. */
static int compare_bytes(struct caller callers[WAYS])
{
	int way;

	for (way = 1; way < WAYS; way++)
		if (memcmp(callers[way].bytes, callers[0].bytes, PAGE_SIZE))
			return -EBADMSG;
	return 0;
}

/* An internal cipher, whose name begins with "__". */
static int measure_cipher(struct skcipher_alg *cipher, bool is_ours)
{
	const char *inner = cipher->base.cra_driver_name, *name = inner + 2;
	struct caller *callers = kcalloc(WAYS, sizeof(*callers), GFP_KERNEL);
	char x86_name[CRYPTO_MAX_ALG_NAME], wrapped_name[CRYPTO_MAX_ALG_NAME];
	struct simd_skcipher_alg *wrapped;
	struct x86_simd_skcipher_alg *wrapped_x86;
	int error, way;

	if (!callers)
		return -ENOMEM;
	error = crypto_register_skcipher(cipher);
	if (error)
		goto free;
	snprintf(wrapped_name, sizeof(wrapped_name), "wrapped-%s", name);
	snprintf(x86_name, sizeof(x86_name), "x86-%s", name);
	wrapped = simd_skcipher_create_compat(cipher, "xts(aes)", wrapped_name, inner);
	wrapped_x86 = x86_simd_skcipher_create_compat(cipher, "xts(aes)", x86_name, inner);
	if (IS_ERR(wrapped) || IS_ERR(wrapped_x86))
		return -EINVAL;	/* This kernel ends with it. */
	error = caller_init(&callers[DIRECT], DIRECT, inner, CRYPTO_ALG_INTERNAL) ?:
		caller_init(&callers[WRAPPED], WRAPPED, wrapped_name, 0) ?:
		caller_init(&callers[WRAPPED_X86], WRAPPED_X86, x86_name, 0) ?:
		caller_init(&callers[WORKER], WORKER, inner, CRYPTO_ALG_INTERNAL) ?:
		measure(callers, name, is_ours) ?: compare_bytes(callers);
	if (error)
		return error;
	for (way = 0; way < WAYS; way++)
		caller_exit(&callers[way]);
	x86_simd_skcipher_free(wrapped_x86);
	simd_skcipher_free(wrapped);
	crypto_unregister_skcipher(cipher);
free:
	kfree(callers);
	return error;
}

static bool can_run(const struct skcipher_alg *cipher)
{
	const char *name = cipher->base.cra_driver_name;

	if (!boot_cpu_has(X86_FEATURE_AVX))
		return false;
	if (!strstr(name, "vaes"))
		return true;
	if (!boot_cpu_has(X86_FEATURE_VAES) || !boot_cpu_has(X86_FEATURE_VPCLMULQDQ))
		return false;
	return !strstr(name, "avx10") || (boot_cpu_has(X86_FEATURE_AVX512BW) && boot_cpu_has(X86_FEATURE_AVX512VL));
}

/* Only an internal cipher can be wrapped. wellspring_crypto's is not internal, but a copy of it is. */
static int measure_ours(void)
{
	static struct skcipher_alg copy;
	struct crypto_skcipher *cipher = crypto_alloc_skcipher(OURS, 0, 0);
	int error;

	if (IS_ERR(cipher))
		return PTR_ERR(cipher);
	copy = *crypto_skcipher_alg(cipher);
	memset(&copy.base.cra_list, 0, sizeof(copy.base.cra_list));
	memset(&copy.base.cra_users, 0, sizeof(copy.base.cra_users));
	memset(&copy.base.cra_refcnt, 0, sizeof(copy.base.cra_refcnt));
	copy.base.cra_flags = CRYPTO_ALG_INTERNAL;
	strscpy(copy.base.cra_name, "__xts(aes)", sizeof(copy.base.cra_name));
	strscpy(copy.base.cra_driver_name, "__" OURS, sizeof(copy.base.cra_driver_name));
	copy.base.cra_module = THIS_MODULE;
	error = measure_cipher(&copy, true);
	crypto_free_skcipher(cipher);
	return error;
}

static int __init wrapper_init(void)
{
	struct skcipher_alg *const *cipher;
	int error = 0;

	rounds = clamp(rounds, 1, MOST_ROUNDS);
	pr_info("a message of AES-256 in XTS in a task, ns; the gain by leaving the wrapper out\n");
	pr_info("%-22s %5s %8s %8s %8s %9s\n", "cipher", "bytes", "directly", "wrapped", "as x86", "worker");
	for (cipher = kernel_ciphers; *cipher && !error; cipher++)
		if (can_run(*cipher))
			error = measure_cipher(*cipher, false);
	error = error ?: measure_ours();
	if (error)
		pr_err("error %d\n", error);
	else
		pr_info("all ciphers were measured, and each way made the same bytes\n");
	return -EAGAIN;	/* Nothing stays. */
}

module_init(wrapper_init);
MODULE_DESCRIPTION("AES-XTS with and without crypto/simd.c");
MODULE_LICENSE("Dual MIT/GPL");
