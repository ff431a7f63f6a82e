// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reads: taps, the four modes, numbers below a bound, and bytes without secrecy.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/topology.h>
#include <linux/wait.h>

#include "internal.h"
#include "trace.h"

/*
 * Taps: one for each CPU and each context that can interrupt the others there.
 *
 * A task owns its tap while preemption is off. A softirq that interrupts it has a tap
 * of its own, and so has a hard interrupt: no context waits or shares, and it does not
 * matter where a refill was interrupted. A read in a context that is in no table (a
 * probe, an interrupt within an interrupt) finds the tap busy, and draws on the node.
 *
 * Between two reads memory has: the key of the *next* refill, and the part of
 * the buffer that was not read yet. Neither reveals earlier output: the refill
 * overwrote the key that made the buffer, and a read erases what it takes.
 */

/* A read of this length or more gets a key of its own instead of buffered bytes. */
#define LONG_BYTES (WS_TAP_BUFFER_BYTES / 2)

struct tap {
	u64 generation;
	bool busy;
	u32 left_bytes;		/* at the buffer's end, not handed out yet */
	struct ws_counter counter;
	struct {
		u8 key[WS_KEY_BYTES];
		u8 buffer[WS_TAP_BUFFER_BYTES];
	} made;			/* by one refill */
	struct ws_tap_statistics statistics;
};

struct cpu_taps {
	struct tap of_context[WS_CONTEXTS];
};

static struct cpu_taps __percpu *taps;

/*
 * Mixes in what a copy of this machine does not have. XOR is enough, because the key is
 * secret and does not depend on it.
 */
static void mix_word(u8 key[sizeof(unsigned long)], unsigned long word)
{
	unsigned int i;

	for (i = 0; i < sizeof(word); i++)
		key[i] ^= word >> (8 * i);
}

/*
 * With each key of the node: RDRAND is a shared unit of the machine and takes up to a
 * few microseconds, too much for each refill.
 */
static void mix_fetch(struct tap *tap)
{
	unsigned long word = 0;

	if (ws_arch_random_word(&word))
		mix_word(tap->made.key + sizeof(word), word);
	memzero_explicit(&word, sizeof(word));
}

/*
 * Fast key erasure (D. J. Bernstein, 2017): the first bytes of the keystream are the
 * next key and replace the key that made them; the bytes after them are the output.
 * When this returns, the old key is nowhere in memory, and the new key does not reveal
 * it. The counter goes on from key to key.
 */
static void tap_refill(struct tap *tap)
{
	struct ws_keystream keystream;

	mix_word(tap->made.key, random_get_entropy());
	ws_keystream_init(&keystream, ws_cipher, tap->made.key, &tap->counter);
	ws_keystream_fill(&keystream, &tap->made, sizeof(tap->made));
	tap->counter = keystream.counter;
	tap->left_bytes = WS_TAP_BUFFER_BYTES;
	tap->statistics.refills++;
	ws_keystream_wipe(&keystream);
}

/* Starts again with a key from the node. The rest of the buffer is discarded. */
static int tap_fetch(struct tap *tap, u64 generation)
{
	struct ws_reservation reservation;
	int error = ws_nodes_reserve(false, WS_KEY_BYTES, &reservation);

	if (error)
		return error;
	memzero_explicit(&tap->made, sizeof(tap->made));
	tap->left_bytes = 0;
	tap->counter = (struct ws_counter) { 0 };
	ws_reservation_generate(&reservation, tap->made.key, WS_KEY_BYTES);
	mix_fetch(tap);
	tap->generation = generation;
	tap->statistics.fetches++;
	trace_wellspring_fetch(numa_node_id(), ws_context(), generation);
	return 0;
}

/*
 * Copies, and erases what it copies, a word at a time: memcpy() and memset() of a length that
 * the compiler does not know are two calls, and cost more than the rest of a short read.
 */
static __always_inline void hand_out(struct tap *tap, u8 *buf, size_t len)
{
	u8 *taken = tap->made.buffer + WS_TAP_BUFFER_BYTES - tap->left_bytes;

	tap->left_bytes -= len;
	for (; len >= sizeof(u64); len -= sizeof(u64)) {
		*(ws_unaligned_u64 *)buf = *(ws_unaligned_u64 *)taken;
		*(ws_unaligned_u64 *)taken = 0;
		buf += sizeof(u64);
		taken += sizeof(u64);
	}
	for (; len; len--) {
		*buf++ = *taken;
		*taken++ = 0;
	}
}

static int tap_serve(struct tap *tap, u8 *buf, size_t len)
{
	/* Read before the fetch: ws_generation_bump() in node.c says why. */
	u64 generation = ws_generation();

	if (tap->generation != generation) {
		int error = tap_fetch(tap, generation);

		if (error)
			return error;
	}
	tap->statistics.reads++;
	while (len) {
		size_t step = min_t(size_t, len, tap->left_bytes);

		hand_out(tap, buf, step);
		buf += step;
		len -= step;
		if (len)
			tap_refill(tap);
	}
	return 0;
}

static int read_node(u8 *buf, size_t len)
{
	struct ws_reservation reservation;
	int error = ws_nodes_reserve(false, len, &reservation);

	if (!error)
		ws_reservation_generate(&reservation, buf, len);
	return error;
}

/* The tap of this CPU and context, with preemption off; NULL if a read that is interrupted has it. */
static __always_inline struct tap *claim_tap(enum ws_context context)
{
	struct tap *tap;

	preempt_disable();
	tap = &this_cpu_ptr(taps)->of_context[context];
	/* Marked: an interrupt may use this tap, and is done with it when it returns. */
	if (unlikely(READ_ONCE(tap->busy))) {
		preempt_enable();
		return NULL;
	}
	/* Only this CPU reads the mark, so a compiler barrier is enough. */
	WRITE_ONCE(tap->busy, true);
	barrier();
	return tap;
}

static __always_inline void release_tap(struct tap *tap)
{
	barrier();
	WRITE_ONCE(tap->busy, false);
	preempt_enable();
}

/*
 * Bytes that are ready, in any context: no lock, no call, no section of the FPU. False, and
 * nothing is done, where tap_read() has to look further: the tap has too few or is in use, or
 * this is an NMI. A tap has none before Ready.
 */
static bool tap_take(void *buf, size_t len)
{
	enum ws_context context = ws_context();
	struct tap *tap = context == WS_NMI ? NULL : claim_tap(context);
	bool is_ready;

	if (unlikely(!tap))
		return false;
	/* A tap with a key was ready once, so the phase is not asked for. */
	is_ready = ws_generation_is(tap->generation) && len <= tap->left_bytes;
	if (likely(is_ready)) {
		hand_out(tap, buf, len);
		tap->statistics.reads++;
	}
	release_tap(tap);
	return is_ready;
}

static int read_short(enum ws_context context, u8 *buf, size_t len)
{
	struct tap *tap = claim_tap(context);
	int error;

	if (unlikely(!tap)) {
		this_cpu_ptr(taps)->of_context[context].statistics.deeper++;
		return read_node(buf, len);
	}
	error = tap_serve(tap, buf, len);
	release_tap(tap);
	return error;
}

/* The tap is free again at once; the bytes are made with preemption on. */
static int read_long(enum ws_context context, u8 *buf, size_t len)
{
	static const struct ws_counter start;
	struct ws_reservation reservation;
	u8 key[WS_KEY_BYTES];
	int error = read_short(context, key, sizeof(key));

	if (!error) {
		ws_keystream_init(&reservation.keystream, ws_cipher, key, &start);
		ws_reservation_generate(&reservation, buf, len);
	}
	memzero_explicit(key, sizeof(key));
	return error;
}

/* Any context but NMI. 0, or -EAGAIN before the first credited seed. */
static int tap_read(void *buf, size_t len)
{
	enum ws_context context = ws_context();

	return len < LONG_BYTES ? read_short(context, buf, len) :
				  read_long(context, buf, len);
}

void ws_tap_statistics(int cpu, enum ws_context context,
		       struct ws_tap_statistics *statistics)
{
	const struct tap *tap = &per_cpu_ptr(taps, cpu)->of_context[context];

	/* Counts that are a little old will do. */
	*statistics = data_race(tap->statistics);
}
WS_EXPORT_FOR_TEST(ws_tap_statistics);

u64 ws_taps_reads(void)
{
	unsigned int context;
	u64 reads = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		for (context = 0; context < WS_CONTEXTS; context++)
			/* A count that is a little old will do. */
			reads += data_race(per_cpu_ptr(taps, cpu)
						   ->of_context[context]
						   .statistics.reads);
	return reads;
}

void ws_taps_wipe(int cpu)
{
	unsigned int context;

	for (context = 0; context < WS_CONTEXTS; context++) {
		struct tap *tap = &per_cpu_ptr(taps, cpu)->of_context[context];

		tap->generation = WS_NO_GENERATION;
		tap->left_bytes = 0;
		memzero_explicit(&tap->made, sizeof(tap->made));
	}
}

#ifdef WELLSPRING_TESTS
bool ws_taps_are_wiped(int cpu)
{
	unsigned int context;

	for (context = 0; context < WS_CONTEXTS; context++) {
		const struct tap *tap =
			&per_cpu_ptr(taps, cpu)->of_context[context];

		if (tap->generation != WS_NO_GENERATION || tap->left_bytes ||
		    memchr_inv(&tap->made, 0, sizeof(tap->made)))
			return false;
	}
	return true;
}
WS_EXPORT_FOR_TEST(ws_taps_are_wiped);
#endif

int ws_taps_init(void)
{
	taps = ws_step_fails() ? NULL : alloc_percpu(struct cpu_taps);
	return taps ? 0 : -ENOMEM;
}

void ws_taps_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		ws_taps_wipe(cpu);
	free_percpu(taps);
}

/*
 * A read in each of the four modes, and the parameters that choose the mode.
 */

static const char *const mode_names[WS_MODES] = {
	[WS_CANONICAL] = "canonical",
	[WS_CONCURRENT] = "concurrent",
	[WS_PER_NODE] = "per-node",
	[WS_PER_CPU] = "per-cpu",
};

static enum ws_mode mode = WS_PER_CPU;

enum ws_mode ws_mode(void)
{
	return READ_ONCE(mode);
}

const char *ws_mode_name(enum ws_mode mode)
{
	return mode_names[mode];
}
WS_EXPORT_FOR_TEST(ws_mode_name);

static int set_mode(const char *value, const struct kernel_param *parameter)
{
	int ret = sysfs_match_string(mode_names, value);

	if (ret < 0)
		return ret;
	WRITE_ONCE(mode, ret);
	return 0;
}

static int get_mode(char *buf, const struct kernel_param *parameter)
{
	return sysfs_emit(buf, "%s\n", mode_names[ws_mode()]);
}

static const struct kernel_param_ops mode_ops = {
	.set = set_mode,
	.get = get_mode,
};
module_param_cb(mode, &mode_ops, NULL, 0644);
MODULE_PARM_DESC(mode,
		 "canonical: the root's lock for each 4096 bytes; concurrent: for each read; "
		 "per-node: on the node of the reader's CPU; per-cpu: from its tap (default)");

/* FreeBSD's knob: 0 is canonical, 1 is any other mode. */
static int set_concurrent_read(const char *value,
			       const struct kernel_param *parameter)
{
	bool concurrent;
	int error = kstrtobool(value, &concurrent);

	if (error)
		return error;
	if (!concurrent)
		WRITE_ONCE(mode, WS_CANONICAL);
	else if (ws_mode() == WS_CANONICAL)
		WRITE_ONCE(mode, WS_CONCURRENT);
	return 0;
}

static int get_concurrent_read(char *buf, const struct kernel_param *parameter)
{
	return sysfs_emit(buf, "%d\n", ws_mode() != WS_CANONICAL);
}

static const struct kernel_param_ops concurrent_read_ops = {
	.set = set_concurrent_read,
	.get = get_concurrent_read,
};
module_param_cb(concurrent_read, &concurrent_read_ops, NULL, 0644);
MODULE_PARM_DESC(concurrent_read,
		 "0: mode=canonical; 1: mode=concurrent, or no change if the mode is not canonical");

static int read_reserved(bool root, void *buf, size_t len)
{
	struct ws_reservation reservation;
	int error = ws_nodes_reserve(root, len, &reservation);

	if (!error)
		ws_reservation_generate(&reservation, buf, len);
	return error;
}

/*
 * FreeBSD's status quo before concurrent reads, to compare with: readers of the device make their
 * bytes one after another. A reader waits by spinning while the owner runs, and sleeps otherwise.
 */
static DEFINE_MUTEX(canonical_lock);

static int read_in_turn(u8 *buf, size_t len)
{
	int error;

	mutex_lock(&canonical_lock);
	error = read_reserved(true, buf, len);
	mutex_unlock(&canonical_lock);
	return error;
}

static int read_canonical(u8 *buf, size_t len, bool may_sleep)
{
	do {
		size_t step = ws_canonical_bytes(ws_cipher, len);
		int error = may_sleep ? read_in_turn(buf, step) :
					read_reserved(true, buf, step);

		if (error)
			return error;
		buf += step;
		len -= step;
	} while (len);
	return 0;
}

int ws_read(enum ws_mode mode, void *buf, size_t len)
{
	if (likely(mode == WS_PER_CPU && tap_take(buf, len)))
		return 0;
	if (in_nmi())
		return -EOPNOTSUPP;
	if (unlikely(ws_phase() != WS_READY))
		return -EAGAIN;
	switch (mode) {
	case WS_CANONICAL:
		return read_canonical(buf, len, false);
	case WS_CONCURRENT:
		return read_reserved(true, buf, len);
	case WS_PER_NODE:
		return read_reserved(false, buf, len);
	default:
		return tap_read(buf, len);
	}
}
WS_EXPORT_FOR_TEST(ws_read);

int ws_read_sleeping(enum ws_mode mode, void *buf, size_t len)
{
	if (unlikely(mode == WS_CANONICAL && ws_phase() == WS_READY))
		return read_canonical(buf, len, true);
	return ws_read(mode, buf, len);
}
WS_EXPORT_FOR_TEST(ws_read_sleeping);

/**
 * wellspring_get_bytes() - secret bytes
 * @buf: kernel memory for the bytes
 * @len: how many bytes
 *
 * Output of Fortuna (Ferguson, Schneier and Kohno, Cryptography Engineering,
 * chapter 9) with AES-256 or ChaCha20: by default from the tap of this CPU and
 * context, without a lock. After the call returns, nothing in the kernel can compute
 * what it returned. It never sleeps and never waits for a seed. A caller that can sleep
 * calls wellspring_wait_until_seeded() once, before its first read.
 *
 * It does not yield the CPU: ask for megabytes in pieces, and for little with
 * interrupts off.
 *
 * Context: Task, softirq and hard interrupt, with any lock held. Not NMI.
 * Return: 0; -EAGAIN until 128 bits are credited; -EOPNOTSUPP in an NMI. After an error
 * the content of @buf is undefined.
 */
int wellspring_get_bytes(void *buf, size_t len)
{
	return ws_read(ws_mode(), buf, len);
}
EXPORT_SYMBOL_GPL(wellspring_get_bytes);

/**
 * wellspring_get_early_bytes() - bytes that may not be secret yet
 * @buf: kernel memory for the bytes
 * @len: how many bytes
 *
 * In the sense of GRND_INSECURE: with less than 128 bits of credit, but more than none,
 * the bytes are made by node 0. For hash tables and the like, never for keys. Later it
 * is wellspring_get_bytes().
 *
 * Context: as wellspring_get_bytes().
 * Return: 0; -EAGAIN before the first credited seed; -EOPNOTSUPP in an NMI.
 */
int wellspring_get_early_bytes(void *buf, size_t len)
{
	if (in_nmi())
		return -EOPNOTSUPP;
	if (ws_phase() == WS_READY)
		return wellspring_get_bytes(buf, len);
	return read_reserved(true, buf, len);
}
EXPORT_SYMBOL_GPL(wellspring_get_early_bytes);

/**
 * wellspring_wait_until_seeded() - wait until 128 bits are credited
 *
 * Usually that is so when the module has been loaded.
 *
 * Context: Task; may sleep.
 * Return: 0, or -ERESTARTSYS if a signal came first.
 */
int wellspring_wait_until_seeded(void)
{
	return wait_event_interruptible(ws_phase_wait, ws_phase() == WS_READY);
}
EXPORT_SYMBOL_GPL(wellspring_wait_until_seeded);

/*
 * Numbers below a bound. Numbers of 32 and of 64 bits are in wellspring.h.
 */

/**
 * wellspring_get_u32_below() - a secret number below a ceiling
 * @number: memory for it
 * @ceiling: more than the greatest number; not 0
 *
 * Each number from 0 to @ceiling - 1 is as likely as any other (Lemire, Fast Random Integer
 * Generation in an Interval, 2019): of a product of 64 bits the upper half is the number,
 * and a product whose lower half is too small is discarded, which is so for less than
 * @ceiling of 2^32.
 *
 * Context: as wellspring_get_bytes().
 * Return: as wellspring_get_bytes(); -EINVAL for a ceiling of 0.
 */
int wellspring_get_u32_below(u32 *number, u32 ceiling)
{
	u32 word, least = 0;
	u64 product;
	int error;

	if (!ceiling)
		return -EINVAL;
	do {
		error = wellspring_get_u32(&word);
		if (error)
			return error;
		product = (u64)word * ceiling;
		/* 2^32 % ceiling, a division that few calls need. */
		if (!least && (u32)product < ceiling)
			least = -ceiling % ceiling;
	} while ((u32)product < least);
	*number = product >> 32;
	return 0;
}
EXPORT_SYMBOL_GPL(wellspring_get_u32_below);

/*
 * Pseudo bytes: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014). The nth number is a fixed function of a sum of n steps, so a read of any length
 * takes its numbers by one addition, and no number waits for the one before.
 *
 * The Solaris Porting Layer had a generator per CPU too. There, an interrupt between the load and
 * the store of the state got the numbers of the call that it interrupted. Here the addition is one
 * instruction on x86, so a CPU has one sum for all contexts: an NMI may call too, and a task may
 * move to another CPU at any time. With xorshift128+ preemption had to be off, and its two changes
 * of the preemption count took most of the time.
 */

DEFINE_PER_CPU(u64, wellspring_pseudo_sum);
EXPORT_PER_CPU_SYMBOL_GPL(wellspring_pseudo_sum);

/**
 * wellspring_get_pseudo_bytes() - bytes without secrecy, in a few cycles
 * @buf: memory for the bytes
 * @len: how many bytes
 *
 * For schedulers, sampling and test data. Never for keys: 8 bytes of output reveal all earlier
 * and all later output. No lock, no barrier, preemption stays on. A call that interrupts another
 * call gets other numbers. No two CPUs give the same number before one of them gave 2^64 divided
 * by the number of CPUs.
 *
 * The numbers are little endian words of 8 bytes. The unused part of the last word is discarded.
 *
 * Context: Any, NMI included.
 */
void wellspring_get_pseudo_bytes(void *buf, size_t len)
{
	u64 steps = DIV_ROUND_UP((u64)len, sizeof(u64)) * WELLSPRING_PSEUDO_STEP;
	u64 sum = wellspring_pseudo_add(steps) - steps;
	__le64 word;

	for (; len >= sizeof(word); len -= sizeof(word)) {
		sum += WELLSPRING_PSEUDO_STEP;
		word = cpu_to_le64(wellspring_pseudo_number(sum));
		*(ws_unaligned_u64 *)buf = (__force u64)word;
		buf += sizeof(word);
	}
	if (len) {
		word = cpu_to_le64(wellspring_pseudo_number(sum + WELLSPRING_PSEUDO_STEP));
		memcpy(buf, &word, len);
	}
}
EXPORT_SYMBOL_GPL(wellspring_get_pseudo_bytes);

/* The sums of the CPUs are the same number of steps apart. */
int ws_pseudo_init(void)
{
	u64 sum, steps = U64_MAX / nr_cpu_ids * WELLSPRING_PSEUDO_STEP;
	int cpu;

	get_random_bytes(&sum, sizeof(sum));
	for_each_possible_cpu(cpu) {
		per_cpu(wellspring_pseudo_sum, cpu) = sum;
		sum += steps;
	}
	return 0;
}
