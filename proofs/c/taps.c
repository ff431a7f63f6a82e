// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * P2: the bytes of a tap, with an interrupt behind each statement of a read.
 *
 * The colour of a byte tells what it is. The stream is FILL, but for one byte anywhere in it, TOKEN, which
 * stands for each: the code never looks at bytes. A key is KEY, what is erased is ERASED, and what the node
 * made is NODE. Two sizes are smaller than in the module: reads of a word and more, of single bytes, over the
 * end of the buffer, and of a key are all there. With IS_TAKE the read is
 * tap_take(), without it read_short(). With BUSY it finds the tap in use.
 *
 * An interrupt may do anything that a whole read may do: it leaves a busy tap alone, and brings a free one
 * from any valid state to any other. main() proves that of a read which is interrupted so behind each of its
 * statements (tap.edits), whether it finds the tap free or busy. So it is true for any number of interrupts
 * at any depth: those within an interrupt first. A read of another context has another tap, and touches this
 * one as little as a read here touches those.
 */
#include "linux.h"

static unsigned long long generation_now(void);
#undef atomic64_read
#undef atomic64_read_acquire
#define atomic64_read(v) generation_now()
#define atomic64_read_acquire(v) generation_now()
#include "internal.h"

#undef WS_KEY_BYTES
#define WS_KEY_BYTES 16
#undef WS_TAP_BUFFER_BYTES
#define WS_TAP_BUFFER_BYTES 16
/* A word and more; and less than half a buffer, or a key. */
#define MOST_READ (IS_TAKE ? 10 : WS_KEY_BYTES)

enum colour { ERASED, KEY, FILL, TOKEN, NODE, UNTOUCHED };

/* Not made yet; in this tap; taken out of it by this read; or with another reader. */
static enum { NOWHERE, HERE, TAKEN, ELSEWHERE } token;
static unsigned int tokens_returned;
static unsigned int refills;
/* Between the mark of a tap and the end of the mark. */
static bool is_owned;

int preemption_off;
atomic64_t ws_generation_number;
enum ws_cipher ws_cipher;

/* A bump may come at any time. */
static unsigned long long generation_now(void)
{
	u64 generation = nondet_u64();

	__CPROVER_assume(generation >= ws_generation_number.counter);
	ws_generation_number.counter = generation;
	return generation;
}

static void interrupt(void);
#include "tap.c"

/* Of the contexts, WS_TASK reads. */
static struct cpu_taps of_cpu;
#define own of_cpu.of_context[WS_TASK]

unsigned int interrupt_context_level(void)
{
	return WS_TASK;
}

/* mix_word() changes the key, not what it is. */
unsigned long random_get_entropy(void)
{
	return 0;
}

bool ws_arch_random_word(unsigned long *word)
{
	*word = 0;
	return nondet_bool();
}

enum ws_phase ws_phase(void)
{
	return nondet_bool() ? WS_READY : WS_EARLY;
}

void ws_keystream_init(struct ws_keystream *keystream, enum ws_cipher cipher,
		       const u8 key[WS_KEY_BYTES], const struct ws_counter *counter)
{
	unsigned int i;

	for (i = 0; i < WS_KEY_BYTES; i++) {
		__CPROVER_assert(key[i] == KEY || key[i] == NODE || key[i] == FILL || key[i] == TOKEN,
				 "a key is not erased memory");
		/* A long read takes its key from the tap: these bytes must not be returned too. */
		tokens_returned += key[i] == TOKEN;
	}
	keystream->counter = *counter;
}

/* A refill: the next key, then the buffer. */
void ws_keystream_fill(struct ws_keystream *keystream, void *buf, size_t len)
{
	bool is_witness = token == NOWHERE && nondet_bool();
	size_t place = nondet_size(), i;
	u8 *dst = buf;

	__CPROVER_assert(dst == (u8 *)&own.made && len == WS_KEY_BYTES + WS_TAP_BUFFER_BYTES,
			 "a refill makes the key and the whole buffer");
	__CPROVER_assume(place < WS_TAP_BUFFER_BYTES);
	for (i = 0; i < WS_KEY_BYTES; i++)
		dst[i] = KEY;
	for (i = 0; i < WS_TAP_BUFFER_BYTES; i++)
		dst[WS_KEY_BYTES + i] = is_witness && i == place ? TOKEN : FILL;
	if (is_witness)
		token = HERE;
	refills++;
}

void ws_keystream_wipe(struct ws_keystream *keystream)
{
}

int ws_nodes_reserve(bool root, size_t len, struct ws_reservation *reservation)
{
	return nondet_bool() ? -EAGAIN : 0;
}

void ws_reservation_generate(struct ws_reservation *reservation, void *buf, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		((u8 *)buf)[i] = NODE;
}

/* Between two reads: a key and a rest, or nothing. All before the rest is erased. */
static void any_valid_state(void)
{
	size_t place = nondet_size();
	unsigned int i;

	own.generation = nondet_u64();
	own.left_bytes = nondet_u32();
	__CPROVER_assume(own.left_bytes <= (own.generation == WS_NO_GENERATION ? 0 : WS_TAP_BUFFER_BYTES));
	__CPROVER_assume(own.generation <= ws_generation_number.counter);
	__CPROVER_assume(token != HERE || (place >= WS_TAP_BUFFER_BYTES - own.left_bytes &&
					   place < WS_TAP_BUFFER_BYTES));
	for (i = 0; i < WS_KEY_BYTES; i++)
		own.made.key[i] = own.generation == WS_NO_GENERATION ? ERASED : KEY;
	for (i = 0; i < WS_TAP_BUFFER_BYTES; i++)
		own.made.buffer[i] = i < WS_TAP_BUFFER_BYTES - own.left_bytes ? ERASED :
				     token == HERE && i == place ? TOKEN : FILL;
}

static bool has_token(void)
{
	unsigned int i, tokens = 0;

	for (i = 0; i < WS_TAP_BUFFER_BYTES; i++)
		tokens += own.made.buffer[i] == TOKEN;
	return tokens;
}

/* What interrupts do, and other tasks where preemption is on. */
static void interrupt(void)
{
	if (is_owned) {
		__CPROVER_assert(own.busy && preemption_off > 0, "who owns a tap has marked it");
		return;
	}
	if (own.busy || nondet_bool())
		return;
	if (token == HERE && !has_token())
		token = TAKEN;
	/* A refill may have made the byte, a read or a fetch may have taken it. */
	if (token == NOWHERE && nondet_bool())
		token = HERE;
	if (token == HERE && nondet_bool())
		token = ELSEWHERE;
	any_valid_state();
}

static void check_state(void)
{
	unsigned int i, tokens = 0;

	__CPROVER_assert(own.left_bytes <= WS_TAP_BUFFER_BYTES, "the rest is within the buffer");
	__CPROVER_assert(own.generation != WS_NO_GENERATION || !own.left_bytes, "no rest without a key");
	for (i = 0; i < WS_TAP_BUFFER_BYTES; i++) {
		u8 byte = own.made.buffer[i];

		tokens += byte == TOKEN;
		if (i < WS_TAP_BUFFER_BYTES - own.left_bytes)
			__CPROVER_assert(byte == ERASED, "what was issued is erased");
		else
			__CPROVER_assert(byte == FILL || byte == TOKEN, "the rest is of the stream");
	}
	__CPROVER_assert(tokens + tokens_returned + (token == ELSEWHERE) <= 1,
			 "a byte is issued at most once");
}

int main(void)
{
	u8 buf[MOST_READ + 1];
	int off_before = BUSY + (nondet_bool() ? 1 : 0);
	size_t len = nondet_size(), i;
	struct tap before;
	bool is_done;

	taps = &of_cpu;
	preemption_off = off_before;
	ws_generation_number.counter = 1UL + nondet_u32();
	token = nondet_bool() ? HERE : nondet_bool() ? NOWHERE : ELSEWHERE;
	any_valid_state();
	/* Busy: an interrupted read has it, and has switched preemption off. */
	own.busy = BUSY;
	before = own;

	__CPROVER_assume(len == MOST_READ || len < (IS_TAKE ? MOST_READ : LONG_BYTES));
	for (i = 0; i <= MOST_READ; i++)
		buf[i] = UNTOUCHED;
	is_done = IS_TAKE ? tap_take(buf, len) : !read_short(WS_TASK, buf, len);

	__CPROVER_assert(preemption_off == off_before, "preemption is as it was");
	for (i = 0; i <= MOST_READ; i++) {
		if (i >= len)
			__CPROVER_assert(buf[i] == UNTOUCHED, "nothing is written behind the read");
		else if (is_done)
			__CPROVER_assert(buf[i] == FILL || buf[i] == TOKEN || buf[i] == NODE,
					 "what is returned is no key and no erased byte");
		tokens_returned += buf[i] == TOKEN;
	}
	__CPROVER_assert(own.busy == before.busy, "the mark is as it was");
	if (BUSY) {
		__CPROVER_assert(!tokens_returned && !refills, "nothing of a busy tap is returned");
		__CPROVER_assert(own.left_bytes == before.left_bytes && own.generation == before.generation,
				 "a busy tap is left alone");
		for (i = 0; i < WS_KEY_BYTES; i++)
			__CPROVER_assert(own.made.key[i] == before.made.key[i], "and its key");
		for (i = 0; i < WS_TAP_BUFFER_BYTES; i++)
			__CPROVER_assert(own.made.buffer[i] == before.made.buffer[i], "and its buffer");
	}
	check_state();
	for (i = WS_TASK + 1; i < WS_CONTEXTS; i++)
		__CPROVER_assert(!of_cpu.of_context[i].statistics.reads && !of_cpu.of_context[i].left_bytes &&
				 !of_cpu.of_context[i].generation && !of_cpu.of_context[i].busy,
				 "taps of other contexts are left alone");
	REACHED((BUSY || is_done) && len == MOST_READ, "the longest read");
#if BUSY
	REACHED(!is_done && before.left_bytes == 3, "it is busy");
#else
	REACHED(tokens_returned && !refills, "the byte was there");
	REACHED(token == ELSEWHERE && before.generation == 1, "an interrupt took it");
#endif
	return 0;
}
