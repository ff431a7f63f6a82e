// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ciphers: FPU sections, AES-256 in counter mode, ChaCha20, and keystreams of both.
 */
#include <asm/byteorder.h>
#include <linux/bottom_half.h>
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/kmsan-checks.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include "internal.h"
/* The code of the tracepoints is here. */
#define CREATE_TRACE_POINTS
#include "trace.h"

/*
 * The FPU section: the only place that knows where SIMD may be used.
 *
 * A CPU has one set of FPU registers, and the kernel lends it to one user at a time.
 * Who can interrupt a section and ask for the FPU too?
 *
 *   task     Cannot: a section switches preemption off.
 *   softirq  Can, at the end of any hard interrupt, and then finds the FPU in use. So we
 *            disable softirqs before the section begins, and they run right after it. A
 *            read in a softirq is therefore synchronous and uses SIMD. Since 6.16
 *            kernel_fpu_begin() does the same, and we leave it to it. With PREEMPT_RT softirqs are threads, and
 *            local_bh_disable() takes a lock that may sleep: there we switch preemption off.
 *   hardirq  Can at any time. It is refused if it interrupts a section, or code with
 *            softirqs disabled, and takes the scalar backend: the same bytes, later.
 *   NMI      Never has an FPU, and gets no bytes (tap.c).
 *
 * Where interrupts are off, and in a hard interrupt, no softirq can come, and softirqs
 * must not be disabled.
 *
 * One case is left on old kernels: a softirq that interrupts a section of *another*
 * subsystem. It is refused like a hard interrupt, and counted. Our sections are short,
 * at most WS_SECTION_BYTES of output, so that softirqs wait a few microseconds only.
 *
 * On arm64 there is no SIMD in hard interrupts, and before 6.19 none while interrupts are off:
 * not for a node's new key, 32 bytes. That is the rule there, and no refusal.
 *
 * The kernel leaves in the registers what was there at the end of a section, until a task
 * returns to user mode on this CPU. That is output, keys, and the
 * states of hashes. So the section's end wipes them. The library's sections end before we
 * can do that, so another section follows on the same CPU.
 */

static DEFINE_PER_CPU(struct ws_simd_statistics, statistics_of_cpu);

const char *ws_context_name(enum ws_context context)
{
	static const char *const names[WS_CONTEXTS] = {
		[WS_TASK] = "task",
		[WS_SOFTIRQ] = "softirq",
		[WS_HARDIRQ] = "hardirq",
	};

	return names[context];
}

/* Whether the kernel's own section keeps softirqs away: on x86 since 6.16. Nothing in its headers tells. */
static bool section_holds_softirqs __ro_after_init;

/* How wide the vector registers are, which tells what there is to wipe. */
static unsigned int register_bytes __ro_after_init;

int ws_simd_init(void)
{
	struct ws_simd simd;

	register_bytes = ws_arch_register_bytes();
	if (ws_arch_simd_usable()) {
		ws_arch_simd_begin(&simd.arch);
		section_holds_softirqs = softirq_count();
		ws_arch_simd_end(&simd.arch);
	}
	return 0;
}

/*
 * The library's ChaCha20 puts 128 bytes of output on the stack where it has AVX2, and its
 * SHA-256 half a kilobyte of the message. Its scalar ChaCha20 leaves the permuted state there
 * on kernels before 2026, which gives the key by the inverse rounds. It does not wipe them.
 */
#define LIBRARY_STACK_BYTES 768

/* This is the stack that the library had, below the frame of our caller. */
noinline void ws_wipe_stack(void)
{
	u8 stack[LIBRARY_STACK_BYTES];

	memzero_explicit(stack, sizeof(stack));
}
WS_EXPORT(ws_wipe_stack);

static void release_cpu(const struct ws_simd *simd)
{
	if (!simd->holds_cpu)
		return;
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
	else
		local_bh_enable();
}

static void hold_cpu(struct ws_simd *simd)
{
	simd->holds_cpu = !in_hardirq() && !irqs_disabled();
	if (simd->holds_cpu) {
		if (IS_ENABLED(CONFIG_PREEMPT_RT))
			preempt_disable();
		else
			local_bh_disable();
	}
}

static void ask_for_fpu(struct ws_simd *simd)
{
	simd->is_usable = ws_arch_simd_usable();
	simd->is_refused = !simd->is_usable &&
			   !(WS_ARCH_SIMD_WANTS_INTERRUPTS && irqs_disabled());
	if (simd->is_usable)
		this_cpu_inc(statistics_of_cpu.sections[ws_context()]);
	else if (simd->is_refused)
		this_cpu_inc(statistics_of_cpu.refusals[ws_context()]);
}

bool ws_simd_guard(struct ws_simd *simd)
{
	hold_cpu(simd);
	ask_for_fpu(simd);
	return simd->is_usable;
}
WS_EXPORT(ws_simd_guard);

void ws_simd_wipe_and_release(struct ws_simd *simd)
{
	if (simd->is_usable) {
		ws_arch_simd_begin(&simd->arch);
		ws_arch_simd_wipe(register_bytes);
		ws_arch_simd_end(&simd->arch);
	}
	release_cpu(simd);
}
WS_EXPORT(ws_simd_wipe_and_release);

bool ws_simd_begin(struct ws_simd *simd)
{
	/* Then a softirq that comes before the section begins has left the FPU again. */
	if (section_holds_softirqs)
		simd->holds_cpu = false;
	else
		hold_cpu(simd);
	ask_for_fpu(simd);
	if (!simd->is_usable) {
		release_cpu(simd);
		return false;
	}
	ws_arch_simd_begin(&simd->arch);
	return true;
}
WS_EXPORT(ws_simd_begin);

void ws_simd_end(struct ws_simd *simd)
{
	ws_arch_simd_wipe(register_bytes);
	ws_arch_simd_end(&simd->arch);
	release_cpu(simd);
}
WS_EXPORT(ws_simd_end);

void ws_simd_statistics(int cpu, struct ws_simd_statistics *statistics)
{
	/* Counts that are a little old will do. */
	*statistics = data_race(per_cpu(statistics_of_cpu, cpu));
}
WS_EXPORT_FOR_TEST(ws_simd_statistics);

/*
 * AES-256 in counter mode. The counter is little endian, as in FreeBSD; the library's, where a
 * kernel has one, is big endian. And since 7.0, encrypting one block at a time takes an FPU
 * section for each. So the SIMD code is ours (arch/), with a key expansion that needs no
 * section of its own; the scalar code is the library's.
 */

#define AES_BYTES 16u

static void aes_key_init(struct ws_aes_key *key, const u8 bytes[WS_KEY_BYTES])
{
	memcpy(key->words, bytes, WS_KEY_BYTES);
	key->is_expanded = false;
}

/* Not inlined: the library's key takes up to 500 bytes of the stack. */
static noinline void aes_fill_scalar(const struct ws_aes_key *key, struct ws_counter counter,
				 u8 *dst, unsigned int len)
{
	struct aes_enckey expanded;
	u8 output[AES_BYTES];

	/* It fails only for a key of another length. */
	WARN_ON_ONCE(aes_prepareenckey(&expanded, (const u8 *)key->words, WS_KEY_BYTES));
	while (len) {
		unsigned int step = min(len, AES_BYTES);
		__le64 block[2] = {
			cpu_to_le64(counter.low),
			cpu_to_le64(counter.high),
		};

		aes_encrypt(&expanded, output, (const u8 *)block);
		memcpy(dst, output, step);
		ws_counter_add(&counter, 1);
		dst += step;
		len -= step;
	}
	ws_wipe_stack();
	memzero_explicit(output, sizeof(output));
	memzero_explicit(&expanded, sizeof(expanded));
}

/* In an FPU section. */
static void aes_blocks_simd(const u32 *round_keys, enum ws_backend backend,
			struct ws_counter *counter, u8 *dst,
			unsigned int blocks)
{
	while (blocks) {
		unsigned long run = blocks;

		/* -low is the number of blocks until the low word wraps. */
		if (counter->low && run > -counter->low)
			run = -counter->low;
		run = ws_arch_aes_blocks(round_keys, backend, counter, dst,
					 run);
		ws_counter_add(counter, run);
		dst += run * AES_BYTES;
		blocks -= run;
	}
}

/* In an FPU section. */
static void aes_fill_simd(struct ws_aes_key *key, enum ws_backend backend,
		      struct ws_counter counter, u8 *dst, unsigned int len)
{
	unsigned int blocks = len / AES_BYTES, rest = len % AES_BYTES;
	u8 last[AES_BYTES];

	if (!key->is_expanded)
		ws_arch_aes_expand(key->words);
	key->is_expanded = true;
	aes_blocks_simd(key->words, backend, &counter, dst, blocks);
	/* KMSAN does not see what assembly writes. */
	kmsan_unpoison_memory(dst, blocks * AES_BYTES);
	if (!rest)
		return;
	aes_blocks_simd(key->words, backend, &counter, last, 1);
	kmsan_unpoison_memory(last, AES_BYTES);
	memcpy(dst + blocks * AES_BYTES, last, rest);
	memzero_explicit(last, sizeof(last));
}

/*
 * At most WS_SECTION_BYTES, from the counter @from on. False: the FPU was refused, and scalar
 * code made the bytes.
 */
static bool aes_fill(struct ws_aes_key *key, enum ws_backend backend,
		 const struct ws_counter *from, u8 *dst, unsigned int len)
{
	struct ws_simd simd;

	if (backend == WS_SCALAR || !ws_simd_begin(&simd)) {
		aes_fill_scalar(key, *from, dst, len);
		return backend == WS_SCALAR || !simd.is_refused;
	}
	aes_fill_simd(key, backend, *from, dst, len);
	ws_simd_end(&simd);
	return true;
}

/*
 * ChaCha20 (RFC 8439) with words 12 to 15 as one counter of 128 bits.
 *
 * The kernel's library makes the blocks, with SIMD inside. It steps word 12 only, and
 * without a carry into word 13. So one call of the library never passes a multiple of
 * 2^32 blocks, and each call starts with all four words written anew.
 */

#define CHACHA20_BYTES 64u

static void ws_chacha20(struct ws_chacha_state *state, u8 *data, unsigned int len)
{
	ws_arch_chacha20_crypt((void *)state, data, data, len);
}

static void chacha20_set_state(struct ws_chacha_state *state, const u32 *key,
		      const struct ws_counter *counter)
{
	/* "expand 32-byte k" */
	state->x[0] = 0x61707865;
	state->x[1] = 0x3320646e;
	state->x[2] = 0x79622d32;
	state->x[3] = 0x6b206574;
	memcpy(&state->x[4], key, WS_KEY_BYTES);
	state->x[12] = lower_32_bits(counter->low);
	state->x[13] = upper_32_bits(counter->low);
	state->x[14] = lower_32_bits(counter->high);
	state->x[15] = upper_32_bits(counter->high);
}

/* The bytes until word 12 wraps, at most @len bytes. */
static unsigned int bytes_until_carry(const struct ws_counter *counter,
				      unsigned int len)
{
	u64 blocks = (1ULL << 32) - lower_32_bits(counter->low);

	return min_t(u64, len, blocks * CHACHA20_BYTES);
}

/* Not inlined, so that the library is called, and its stack wiped, from the same frame. */
static noinline void chacha20_fill_scalar(const u32 *key, const struct ws_counter *from,
			u8 *dst, unsigned int len)
{
	struct ws_counter counter = *from;
	struct ws_chacha_state state;
	u8 block[CHACHA20_BYTES];

	while (len) {
		unsigned int step = min(len, CHACHA20_BYTES);

		chacha20_set_state(&state, key, &counter);
		ws_chacha20_block(&state, block);
		memcpy(dst, block, step);
		ws_counter_add(&counter, 1);
		dst += step;
		len -= step;
	}
	ws_wipe_stack();
	memzero_explicit(block, sizeof(block));
	memzero_explicit(&state, sizeof(state));
}

static void chacha20_fill_library(const u32 *key, const struct ws_counter *from,
			 u8 *dst, unsigned int len)
{
	struct ws_counter counter = *from;
	struct ws_chacha_state state;

	memset(dst, 0, len);
	while (len) {
		unsigned int step = bytes_until_carry(&counter, len);

		chacha20_set_state(&state, key, &counter);
		ws_chacha20(&state, dst, step);
		ws_counter_add(&counter, ws_blocks(WS_CHACHA20, step));
		dst += step;
		len -= step;
	}
	memzero_explicit(&state, sizeof(state));
}

/* As aes_fill(). */
static bool chacha20_fill(const u32 key[WS_KEY_BYTES / 4], enum ws_backend backend,
		      const struct ws_counter *from, u8 *dst, unsigned int len)
{
	struct ws_simd simd;

	/* The library uses no SIMD for one block, so there is no section to refuse. */
	if (backend == WS_SCALAR || len <= CHACHA20_BYTES) {
		chacha20_fill_scalar(key, from, dst, len);
		return true;
	}
	if (ws_simd_guard(&simd))
		chacha20_fill_library(key, from, dst, len);
	else
		chacha20_fill_scalar(key, from, dst, len);
	ws_simd_unguard(&simd);
	return !simd.is_refused;
}

/*
 * Which cipher was chosen, and which backends this CPU has.
 */

enum ws_cipher ws_cipher = WS_CHACHA20;
WS_EXPORT_FOR_TEST(ws_cipher);

static char *cipher = "chacha20";
module_param(cipher, charp, 0444);
MODULE_PARM_DESC(cipher, "chacha20 (default) or aes256");

static enum ws_backend best_backends[WS_CIPHERS];

enum ws_backend ws_best_backend(enum ws_cipher cipher)
{
	return READ_ONCE(best_backends[cipher]);
}
WS_EXPORT_FOR_TEST(ws_best_backend);

#ifdef WELLSPRING_TESTS
enum ws_backend ws_use_backend(enum ws_cipher cipher, enum ws_backend backend)
{
	enum ws_backend before = READ_ONCE(best_backends[cipher]);

	WRITE_ONCE(best_backends[cipher], backend);
	return before;
}
WS_EXPORT_FOR_TEST(ws_use_backend);
#endif

const char *ws_cipher_name(enum ws_cipher cipher)
{
	return cipher == WS_AES256 ? "aes256" : "chacha20";
}

const char *ws_backend_name(enum ws_cipher cipher, enum ws_backend backend)
{
	static const char *const names[WS_CIPHERS][WS_BACKENDS] = {
		[WS_AES256] = { "scalar", WS_ARCH_AES_NAMES },
		[WS_CHACHA20] = { "scalar", "library", "none" },
	};

	return names[cipher][backend];
}
WS_EXPORT_FOR_TEST(ws_backend_name);

int ws_backends_init(void)
{
	if (!strcmp(cipher, ws_cipher_name(WS_AES256)))
		ws_cipher = WS_AES256;
	else if (strcmp(cipher, ws_cipher_name(WS_CHACHA20)))
		return -EINVAL;
	ws_arch_chacha20_init();
	best_backends[WS_AES256] = ws_arch_aes_detect();
	best_backends[WS_CHACHA20] = WS_SIMD128;
	return 0;
}

/*
 * Keystreams, cut into pieces of one FPU section each.
 */

void ws_keystream_init(struct ws_keystream *keystream, enum ws_cipher cipher,
		       const u8 key[WS_KEY_BYTES],
		       const struct ws_counter *counter)
{
	keystream->cipher = cipher;
	keystream->backend = ws_best_backend(cipher);
	keystream->counter = *counter;
	if (cipher == WS_CHACHA20)
		memcpy(keystream->chacha_key, key, WS_KEY_BYTES);
	else
		aes_key_init(&keystream->aes, key);
}
WS_EXPORT_FOR_TEST(ws_keystream_init);

void ws_keystream_fill(struct ws_keystream *keystream, void *buf, size_t len)
{
	const struct ws_counter *from = &keystream->counter;

	while (len) {
		unsigned int step = min_t(size_t, len, WS_SECTION_BYTES);
		bool refused;

		if (keystream->cipher == WS_CHACHA20)
			refused = !chacha20_fill(keystream->chacha_key,
						    keystream->backend, from,
						    buf, step);
		else
			refused = !aes_fill(&keystream->aes, keystream->backend,
					       from, buf, step);
		if (refused)
			trace_wellspring_refusal(step);
		ws_counter_add(&keystream->counter,
			       ws_blocks(keystream->cipher, step));
		buf += step;
		len -= step;
	}
}
WS_EXPORT_FOR_TEST(ws_keystream_fill);

void ws_keystream_wipe(struct ws_keystream *keystream)
{
	memzero_explicit(keystream, sizeof(*keystream));
}
WS_EXPORT_FOR_TEST(ws_keystream_wipe);
