// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * P2, second half: reads of a tap with the module's sizes, with interrupts behind each statement.
 *
 * hand_out() is what copy.c proves of it. @place is any place of the buffer, and stands for all: no other byte of
 * the buffer is looked at here, and its colour is kept beside the buffer, which no
 * other code touches. A byte is a colour: erased, a key, of the stream (FILL), or TOKEN, which is one byte of the
 * stream, made by any refill at @place. @at is any place of the destination.
 *
 * What a whole read may do to the tap, read_may(), is one relation. With COMPOSITION it is shown to hold for no
 * read, and for two reads if it holds for each: so for any number. With TAKE and SHORT an interrupt does what
 * read_may() allows, behind each statement of tap_take() and read_short(), and what the read has done is shown
 * to be allowed too. By induction over their depth, interrupts within interrupts are allowed.
 */
#include "linux.h"

static unsigned long long generation_now(void);
static void erase(void *memory, size_t size);
#undef atomic64_read
#undef atomic64_read_acquire
#define atomic64_read(v) generation_now()
#define atomic64_read_acquire(v) generation_now()
#undef memzero_explicit
#define memzero_explicit(memory, size) erase(memory, size)
#include "internal.h"

#define LAST WS_TAP_BUFFER_BYTES
#define COMPOSITION 0
#define TAKE 1
#define SHORT 2
enum colour { ERASED, KEY, FILL, TOKEN };
/* Not made yet; in this tap; or issued, or erased. */
enum token { NOWHERE, HERE, GONE };

static enum token token;
static u8 colour;		/* of the byte at @place */
static size_t place, at;
static u8 output[LAST + 8];
static unsigned int written, refills, tokens_returned;
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

struct tap;
static void interrupt(void);
static void hand_out(struct tap *tap, u8 *buf, size_t len);
#include "tap.c"

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

static void erase(void *memory, size_t size)
{
	unsigned int i;

	if (memory != &own.made)
		return;
	__CPROVER_assert(size == sizeof(own.made) && is_owned, "the whole of a tap is erased, by its owner");
	for (i = 0; i < WS_KEY_BYTES; i++)
		own.made.key[i] = ERASED;
	if (colour == TOKEN)
		token = GONE;
	colour = ERASED;
}

void ws_keystream_init(struct ws_keystream *keystream, enum ws_cipher cipher,
		       const u8 key[WS_KEY_BYTES], const struct ws_counter *counter)
{
	unsigned int i;

	for (i = 0; i < WS_KEY_BYTES; i++)
		__CPROVER_assert(key[i] == KEY, "a key is not erased memory");
	keystream->counter = *counter;
}

/* A refill: the next key, then the buffer. */
void ws_keystream_fill(struct ws_keystream *keystream, void *buf, size_t len)
{
	unsigned int i;

	__CPROVER_assert(buf == &own.made && len == sizeof(own.made) && is_owned,
			 "a refill makes the key and the whole buffer");
	__CPROVER_assert(colour == ERASED, "a refill comes when all is issued");
	for (i = 0; i < WS_KEY_BYTES; i++)
		own.made.key[i] = KEY;
	colour = FILL;
	if (token == NOWHERE && nondet_bool()) {
		colour = TOKEN;
		token = HERE;
	}
	refills++;
}

void ws_keystream_wipe(struct ws_keystream *keystream)
{
}

int ws_nodes_reserve(bool root, size_t len, struct ws_reservation *reservation)
{
	return nondet_bool() ? -EAGAIN : 0;
}

/* A key for the tap, or the bytes of a read that finds it busy. */
void ws_reservation_generate(struct ws_reservation *reservation, void *buf, size_t len)
{
	unsigned int i;

	if (buf == output) {
		written += at < len;
		return;
	}
	__CPROVER_assert(buf == own.made.key && len == WS_KEY_BYTES && is_owned, "a key is a tap's");
	for (i = 0; i < WS_KEY_BYTES; i++)
		own.made.key[i] = KEY;
}

/* As copy.c proves. */
static void hand_out(struct tap *tap, u8 *buf, size_t len)
{
	size_t start = LAST - tap->left_bytes;
	size_t offset = __CPROVER_POINTER_OFFSET(buf);

	__CPROVER_assert(tap == &own && is_owned, "who reads a tap owns it");
	__CPROVER_assert(tap->left_bytes <= LAST && len <= tap->left_bytes, "a tap has what is read");
	__CPROVER_assert(__CPROVER_same_object(buf, output), "a read writes to its destination");
	interrupt();
	tap->left_bytes -= len;
	written += at >= offset && at < offset + len;
	if (place >= start && place < start + len) {
		__CPROVER_assert(colour == FILL || colour == TOKEN, "what is issued is no key and no erased byte");
		if (colour == TOKEN) {
			__CPROVER_assert(token == HERE && !tokens_returned, "a byte is issued at most once");
			token = GONE;
			tokens_returned++;
		}
		colour = ERASED;
	}
	interrupt();
}

/* What reads of others can see of a tap. */
struct view {
	bool busy;
	u32 left_bytes;
	u64 generation, number;
	u8 key, colour;		/* of each byte of the key */
	enum token token;
};

static struct view view(void)
{
	struct view view = { own.busy, own.left_bytes, own.generation, ws_generation_number.counter,
			     own.made.key[0], colour, token };
	return view;
}

static bool is_whole(struct view a)
{
	bool has_key = a.generation != WS_NO_GENERATION;

	return a.left_bytes <= (has_key ? LAST : 0) && a.generation <= a.number &&
	       a.key == (has_key ? KEY : ERASED) && a.token <= GONE &&
	       a.colour == (place < LAST - a.left_bytes ? ERASED : a.token == HERE ? TOKEN : FILL) &&
	       (a.token != HERE || a.colour == TOKEN);
}

/* What a whole read, or none, may do. A byte that is issued is in no tap again; a busy tap is left alone. */
static bool read_may(struct view a, struct view b)
{
	if (b.number < a.number || b.busy != a.busy)
		return false;
	if (a.busy)
		return b.left_bytes == a.left_bytes && b.generation == a.generation && b.key == a.key &&
		       b.colour == a.colour && b.token == a.token;
	return is_whole(a) && is_whole(b) && b.token >= a.token;
}

static struct view any_view(void)
{
	struct view view = { nondet_bool(), nondet_u32(), nondet_u64(), nondet_u64(), nondet_byte(), nondet_byte(),
			     nondet_byte() % 3 };
	return view;
}

static void set(struct view view)
{
	unsigned int i;

	own.busy = view.busy;
	own.left_bytes = view.left_bytes;
	own.generation = view.generation;
	ws_generation_number.counter = view.number;
	for (i = 0; i < WS_KEY_BYTES; i++)
		own.made.key[i] = view.key;
	colour = view.colour;
	token = view.token;
}

static void interrupt(void)
{
	struct view before = view(), after = any_view();

	__CPROVER_assert(!is_owned || (own.busy && preemption_off > 0), "who owns a tap has marked it");
	__CPROVER_assert(own.busy || is_whole(before), "a tap that is free is whole");
	__CPROVER_assume(read_may(before, after));
	/* While it is busy nothing changes but the number, and what is not in view stays. */
	if (own.busy)
		ws_generation_number.counter = after.number;
	else
		set(after);
}

static void check_composition(void)
{
	struct view a = any_view(), b = any_view(), c = any_view();

	if (a.busy || is_whole(a))
		__CPROVER_assert(read_may(a, a), "no read is allowed");
	if (read_may(a, b) && read_may(b, c))
		__CPROVER_assert(read_may(a, c), "a read behind a read is allowed");
	REACHED(read_may(a, b) && read_may(b, c) && a.token == NOWHERE && b.token == HERE && c.token == GONE,
		"a byte that one read makes and the next one issues");
}

static void check_read(void)
{
	struct view before = any_view(), after;
	int off_before;
	size_t len = nondet_size();
	bool is_done;

	__CPROVER_assume(before.number > WS_NO_GENERATION && (before.busy || is_whole(before)));
	set(before);
	preemption_off = off_before = before.busy + nondet_bool();
	__CPROVER_assume(len <= (PART == TAKE ? sizeof(output) : LONG_BYTES - 1));
	is_done = PART == TAKE ? tap_take(output, len) : !read_short(WS_TASK, output, len);

	after = view();
	__CPROVER_assert(read_may(before, after), "a read does what a read may do");
	__CPROVER_assert(preemption_off == off_before, "preemption is as it was");
	__CPROVER_assert(!before.busy || (!refills && !tokens_returned), "nothing of a busy tap is issued");
	__CPROVER_assert(written == (is_done && at < len), "each byte of a read is written once, and nothing behind it");
	REACHED(is_done && len == (PART == TAKE ? LAST : LONG_BYTES - 1), "the longest read");
	REACHED(tokens_returned && before.token == HERE, "the byte was there");
	REACHED(!before.busy && before.token == HERE && after.token == GONE && !tokens_returned, "an interrupt took it");
#if PART == SHORT
	REACHED(refills == 1 && tokens_returned && before.token == NOWHERE, "a refill made it");
#endif
}

int main(void)
{
	taps = &of_cpu;
	place = nondet_size();
	at = nondet_size();
	__CPROVER_assume(place < LAST && at < sizeof(output));
#if PART == COMPOSITION
	check_composition();
#else
	check_read();
#endif
	return 0;
}
