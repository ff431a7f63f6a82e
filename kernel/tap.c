// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Taps: one for each CPU and each context that can interrupt the others there.
 *
 * A task's tap belongs to it while preemption is off; a softirq that comes in between
 * has a tap of its own, and so has a hard interrupt. Nobody waits, nobody shares, and
 * a refill that was interrupted in the middle is nobody else's business. What no
 * table of contexts foresees (a probe, an interrupt that let in another) finds the
 * tap busy, and draws on the node instead.
 *
 * What remains in memory between two reads: the key of the *next* refill and the part
 * of the buffer that was not handed out. Neither tells anything about what was: the
 * key that made the buffer was overwritten by the refill that used it, and what is
 * taken from the buffer is erased as it is taken.
 */
#include <asm/archrandom.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/timex.h>

#include "internal.h"
#include "trace.h"

/* From half a buffer on, a read gets a key of its own instead of buffered bytes. */
#define LONG_BYTES (WS_TAP_BUFFER_BYTES / 2)

struct cpu_taps {
	struct ws_tap of[WS_CONTEXTS];
};

static struct cpu_taps __percpu *taps;

/*
 * Mixes in what no copy of this machine has: a word of RDRAND, where there is one, and
 * the cycle counter. An XOR is enough: the key is secret and independent of both.
 */
static void mix_fresh(struct ws_tap *tap)
{
	unsigned long fresh[2] = { random_get_entropy(), 0 };
	unsigned int i;

	if (!arch_get_random_longs(&fresh[1], 1))
		fresh[1] = 0;
	for (i = 0; i < sizeof(fresh); i++)
		tap->made.key[i] ^= ((const u8 *)fresh)[i];
	memzero_explicit(fresh, sizeof(fresh));
}

/*
 * Fast key erasure (D. J. Bernstein, 2017): the keystream's first bytes are the next
 * key and replace the one that makes it, the bytes after them are the output. When
 * this returns, the old key is in no register or memory, and the new one cannot tell
 * it. The counter goes on over all keys.
 */
static void refill(struct ws_tap *tap)
{
	struct ws_keystream keystream;

	mix_fresh(tap);
	ws_keystream_init(&keystream, ws_cipher, tap->made.key, &tap->counter);
	ws_keystream_fill(&keystream, &tap->made, sizeof(tap->made));
	tap->counter = keystream.counter;
	tap->left_bytes = WS_TAP_BUFFER_BYTES;
	tap->refills++;
	ws_keystream_wipe(&keystream);
}

/* Begins anew with a key from the node. What was buffered is discarded. */
static int fetch(struct ws_tap *tap, u64 generation)
{
	struct ws_claim claim;
	int error = ws_node_claim(false, WS_KEY_BYTES, &claim);

	if (error)
		return error;
	memzero_explicit(&tap->made, sizeof(tap->made));
	tap->left_bytes = 0;
	tap->counter = (struct ws_counter) { 0 };
	ws_claim_generate(&claim, tap->made.key, WS_KEY_BYTES);
	tap->generation = generation;
	tap->fetches++;
	trace_wellspring_fetch(numa_node_id(), in_serving_softirq(), generation);
	return 0;
}

static int serve(struct ws_tap *tap, u8 *destination, size_t bytes)
{
	/* Before the fetch: see ws_generation(). */
	u64 generation = ws_generation();

	if (unlikely(tap->generation != generation)) {
		int error = fetch(tap, generation);

		if (error)
			return error;
	}
	tap->reads++;
	while (bytes) {
		size_t step = min_t(size_t, bytes, tap->left_bytes);
		u8 *taken = tap->made.buffer + WS_TAP_BUFFER_BYTES -
			    tap->left_bytes;

		memcpy(destination, taken, step);
		memzero_explicit(taken, step);
		tap->left_bytes -= step;
		destination += step;
		bytes -= step;
		if (bytes)
			refill(tap);
	}
	return 0;
}

static int read_claimed(u8 *destination, size_t bytes)
{
	struct ws_claim claim;
	int error = ws_node_claim(false, bytes, &claim);

	if (!error)
		ws_claim_generate(&claim, destination, bytes);
	return error;
}

static int read_short(u8 *destination, size_t bytes)
{
	struct ws_tap *tap;
	int error;

	preempt_disable();
	tap = &this_cpu_ptr(taps)->of[ws_context()];
	if (unlikely(tap->busy)) {
		tap->deeper++;
		preempt_enable();
		return read_claimed(destination, bytes);
	}
	/* Only for this CPU's eyes: the order of the compiler is order enough. */
	WRITE_ONCE(tap->busy, true);
	barrier();
	error = serve(tap, destination, bytes);
	barrier();
	WRITE_ONCE(tap->busy, false);
	preempt_enable();
	return error;
}

int ws_tap_read(void *destination, size_t bytes)
{
	struct ws_claim claim = { .cipher = ws_cipher };
	int error;

	if (bytes < LONG_BYTES)
		return read_short(destination, bytes);
	/* The tap is left at once; the bytes are made where and when they may be. */
	error = read_short(claim.key, sizeof(claim.key));
	if (!error)
		ws_claim_generate(&claim, destination, bytes);
	return error;
}

void ws_tap_statistics(int cpu, enum ws_context context,
		       struct ws_tap_statistics *statistics)
{
	const struct ws_tap *tap = &per_cpu_ptr(taps, cpu)->of[context];

	*statistics = (struct ws_tap_statistics) {
		.reads = READ_ONCE(tap->reads),
		.fetches = READ_ONCE(tap->fetches),
		.refills = READ_ONCE(tap->refills),
		.deeper = READ_ONCE(tap->deeper),
	};
}
WS_EXPORT_FOR_TEST(ws_tap_statistics);

void ws_taps_wipe(int cpu)
{
	unsigned int context;

	for (context = 0; context < WS_CONTEXTS; context++) {
		struct ws_tap *tap = &per_cpu_ptr(taps, cpu)->of[context];

		tap->generation = WS_NEVER;
		tap->left_bytes = 0;
		memzero_explicit(&tap->made, sizeof(tap->made));
	}
}

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
