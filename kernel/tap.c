// SPDX-License-Identifier: GPL-2.0 OR MIT
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
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/topology.h>

#include "arch-random.h"
#include "backend.h"
#include "generation.h"
#include "keystream.h"
#include "memory.h"
#include "nodes.h"
#include "tap.h"
#include "testing.h"
#include "trace.h"

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
	/* Read before the fetch: generation.c says why. */
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

bool ws_tap_take(void *buf, size_t len)
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

int ws_tap_read(void *buf, size_t len)
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
