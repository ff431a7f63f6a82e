// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * wellspring_crypto.ko as a user of the crypto API: in softirqs, where it is synchronous and
 * never refused the FPU, while tasks spend half of their time in sections of the module. The
 * crypto manager tests what it makes. And its speed beside cryptd's, where a worker has each
 * message. What was published, 384 and 487 MB/s for messages of 16 bytes, is another case: tasks,
 * through crypto/simd.c and past it, without a worker.
 */
#include <crypto/skcipher.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "ciphers.h"
#include "test.h"
#include "timers.h"
#include "workers.h"

#if IS_REACHABLE(CONFIG_CRYPTO_SKCIPHER)

#define DIRECT "xts-aes-wellspring"
#define DETOUR "cryptd(xts-aes-wellspring)"
#define MOST_BYTES 4096
#define PERIOD_NS 200000
#define LEAST_MESSAGES 200
/* Half of the period, and how many interrupts must have come in one. */
#define SECTION_US 100
#define LEAST_INSIDE 20

/* A cipher with a key, and room for a message. */
struct cipher_user {
	struct crypto_skcipher *cipher;
	struct skcipher_request *request;
	struct crypto_wait wait;
	struct scatterlist list;
	u8 iv[16];
	u8 *bytes;
};

static void user_exit(struct cipher_user *user)
{
	skcipher_request_free(user->request);
	kfree(user->bytes);
	if (!IS_ERR_OR_NULL(user->cipher))
		crypto_free_skcipher(user->cipher);
}

/* @mask: CRYPTO_ALG_ASYNC for a synchronous cipher alone. */
static int user_init(struct cipher_user *user, const char *name, u32 mask)
{
	static const u8 key[64] = { 1, [32] = 2 };
	int error;

	memset(user, 0, sizeof(*user));
	user->cipher = crypto_alloc_skcipher(name, 0, mask);
	if (IS_ERR(user->cipher))
		return PTR_ERR(user->cipher);
	user->request = skcipher_request_alloc(user->cipher, GFP_KERNEL);
	user->bytes = kzalloc(MOST_BYTES, GFP_KERNEL);
	error = user->request && user->bytes ?
			crypto_skcipher_setkey(user->cipher, key, sizeof(key)) : -ENOMEM;
	crypto_init_wait(&user->wait);
	if (error)
		user_exit(user);
	return error;
}

/* In place, with the tweak 0. -EINPROGRESS if a worker has it. */
static int encrypt(struct cipher_user *user, unsigned int len, u32 flags)
{
	memset(user->iv, 0, sizeof(user->iv));
	sg_init_one(&user->list, user->bytes, len);
	skcipher_request_set_callback(user->request, flags, crypto_req_done, &user->wait);
	skcipher_request_set_crypt(user->request, &user->list, &user->list, len, user->iv);
	return crypto_skcipher_encrypt(user->request);
}

struct softirqs {
	struct cipher_user user;
	u8 expected[MOST_BYTES];
	u32 messages;
	u32 wrong;
	/* A task of the CPU of the messages is in a section; hard interrupts that came in one. */
	bool inside;
	u32 hardirqs_inside;
};

static void stay_in_section(struct worker *worker)
{
	struct softirqs *softirqs = worker->argument;
	struct ws_simd simd;

	if (!ws_simd_begin(&simd))
		return;
	if (!worker->cpu)
		WRITE_ONCE(softirqs->inside, true);
	udelay(SECTION_US);
	if (!worker->cpu)
		WRITE_ONCE(softirqs->inside, false);
	ws_simd_end(&simd);
	udelay(SECTION_US / 2);
}

static void count_hardirqs(int cpu, void *argument)
{
	struct softirqs *softirqs = argument;

	if (!cpu && READ_ONCE(softirqs->inside))
		WRITE_ONCE(softirqs->hardirqs_inside, softirqs->hardirqs_inside + 1);
}

static void encrypt_in_softirq(int cpu, void *argument)
{
	struct softirqs *softirqs = argument;

	if (cpu)
		return;
	memset(softirqs->user.bytes, 0, MOST_BYTES);
	if (encrypt(&softirqs->user, MOST_BYTES, 0) ||
	    memcmp(softirqs->user.bytes, softirqs->expected, MOST_BYTES))
		softirqs->wrong++;
	WRITE_ONCE(softirqs->messages, softirqs->messages + 1);
}

static bool enough_messages(void *argument)
{
	const struct softirqs *softirqs = argument;

	return READ_ONCE(softirqs->messages) >= LEAST_MESSAGES &&
	       READ_ONCE(softirqs->hardirqs_inside) >= LEAST_INSIDE;
}

/* Messages in softirqs, which hard interrupts bring also while a task is in a section. */
static int run_softirqs(struct softirqs *softirqs)
{
	struct timers timers = { .function = encrypt_in_softirq, .argument = softirqs,
				 .softirq = true, .period_ns = PERIOD_NS };
	struct timers hardirqs = { .function = count_hardirqs, .argument = softirqs,
				   .period_ns = PERIOD_NS + 7000 };
	int error = timers_start(&timers);

	if (error)
		return error;
	error = timers_start(&hardirqs);
	if (!error) {
		error = workers_run(1, stay_in_section, softirqs, 0, enough_messages);
		timers_stop(&hardirqs);
	}
	timers_stop(&timers);
	return error;
}

static int judge_softirqs(struct report *report, const struct softirqs *softirqs,
			  const struct ws_simd_statistics *before)
{
	struct ws_simd_statistics after;
	u64 sections, refusals;

	ws_simd_statistics(0, &after);
	sections = after.sections[WS_SOFTIRQ] - before->sections[WS_SOFTIRQ];
	refusals = after.refusals[WS_SOFTIRQ] - before->refusals[WS_SOFTIRQ];
	if (softirqs->wrong)
		return failed(report, "%u of %u messages wrong", softirqs->wrong,
			      softirqs->messages);
	if (refusals || sections < softirqs->messages)
		return failed(report, "%u messages in softirqs: %llu sections, %llu refusals",
			      softirqs->messages, sections, refusals);
	return passed(report, "%u messages in softirqs, as in a task, no refusal; %u interrupts in sections",
		      softirqs->messages, softirqs->hardirqs_inside);
}

static int ciphers_in_softirqs(struct report *report)
{
	struct softirqs *softirqs = kzalloc(sizeof(*softirqs), GFP_KERNEL);
	struct ws_simd_statistics before;
	int verdict, error;

	if (!softirqs)
		return failed(report, "no memory");
	error = user_init(&softirqs->user, DIRECT, CRYPTO_ALG_ASYNC);
	if (error) {
		kfree(softirqs);
		return error == -ENOENT ? skipped(report, "wellspring_crypto is not loaded") :
					  failed(report, "error %d", error);
	}
	error = encrypt(&softirqs->user, MOST_BYTES, 0);
	memcpy(softirqs->expected, softirqs->user.bytes, MOST_BYTES);
	ws_simd_statistics(0, &before);
	if (!error)
		error = run_softirqs(softirqs);
	verdict = error ? failed(report, "error %d", error) :
			  judge_softirqs(report, softirqs, &before);
	user_exit(&softirqs->user);
	kfree(softirqs);
	return verdict;
}

int measure_cipher(bool detour, unsigned int len, u32 count, u64 *ns)
{
	struct cipher_user user;
	int error = user_init(&user, detour ? DETOUR : DIRECT, 0);
	u64 since_ns;

	if (error)
		return error;
	since_ns = ktime_get_ns();
	while (count-- && !error)
		error = crypto_wait_req(encrypt(&user, len, CRYPTO_TFM_REQ_MAY_BACKLOG),
					&user.wait);
	*ns = ktime_get_ns() - since_ns;
	user_exit(&user);
	return error;
}

#else

static int ciphers_in_softirqs(struct report *report)
{
	return skipped(report, "this kernel has no skciphers");
}

int measure_cipher(bool detour, unsigned int len, u32 count, u64 *ns)
{
	return -ENOENT;
}

#endif

const struct test ciphers_tests[] = {
	{ "ciphers/softirqs", ciphers_in_softirqs },
	{}
};
