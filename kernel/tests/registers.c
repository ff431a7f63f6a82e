// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What reads, keys and hashes leave in vector registers and on the stack: nothing. A test fills
 * the registers, calls a function, while nothing else can come, and looks at them. Then it
 * reads as tasks do, and looks for the bytes that the read returned. Another one fills the stack
 * instead. It looks for the key and for the bytes there, and for a state of ChaCha20 after its
 * rounds: from each word on it computes the rounds backwards.
 */
#include <linux/bitops.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "machine-test.h"
#include "test.h"

#define MOST_BYTES 9000

struct registers {
	u64 lanes[WS_ARCH_LANES][2];
};

/* What else uses registers stays away. On arm64 that is no hard interrupt. */
static unsigned long keep_others_out(void)
{
	unsigned long flags = 0;

	if (WS_ARCH_SIMD_WANTS_INTERRUPTS)
		local_bh_disable();
	else
		local_irq_save(flags);
	return flags;
}

static void let_others_in(unsigned long flags)
{
	if (WS_ARCH_SIMD_WANTS_INTERRUPTS)
		local_bh_enable();
	else
		local_irq_restore(flags);
}

/* All that this CPU has; the rest are zeros. Preemption is off. */
static void look_at_registers(struct registers *registers)
{
	struct ws_arch_simd arch;

	memset(registers, 0, sizeof(*registers));
	ws_arch_simd_begin(&arch);
	ws_arch_registers_store(registers->lanes);
	ws_arch_simd_end(&arch);
}

static void fill_registers(struct registers *registers)
{
	struct ws_arch_simd arch;

	memset(registers, 0xa5, sizeof(*registers));
	ws_arch_simd_begin(&arch);
	ws_arch_registers_load(registers->lanes);
	ws_arch_simd_end(&arch);
}

static void keystream_of(enum ws_cipher cipher, u8 *buf, size_t len)
{
	static const u8 key[WS_KEY_BYTES] = { 1, 2, 3 };
	struct ws_counter counter = { 1, 0 };
	struct ws_keystream keystream;

	ws_keystream_init(&keystream, cipher, key, &counter);
	ws_keystream_fill(&keystream, buf, len);
	ws_keystream_wipe(&keystream);
}

static void chacha20_stream(u8 *buf)
{
	keystream_of(WS_CHACHA20, buf, 4096);
}

static void aes256_stream(u8 *buf)
{
	keystream_of(WS_AES256, buf, 4096);
}

static void aes256_key(u8 *buf)
{
	keystream_of(WS_AES256, buf, 1);
}

static void reseed(u8 *buf)
{
	struct ws_generator generator;

	ws_generator_init(&generator, WS_CHACHA20);
	ws_generator_reseed(&generator, buf, 1024);
	memzero_explicit(&generator, sizeof(generator));
}

/* @buf has room for the pools. */
static void pools(u8 *buf)
{
	struct ws_accumulator *accumulator = (struct ws_accumulator *)buf;
	struct ws_event event = { .bytes = 32 };
	struct ws_simd simd;

	ws_accumulator_init(accumulator);
	ws_simd_guard(&simd);
	ws_accumulator_absorb(accumulator, &event, 0);
	ws_accumulator_absorb(accumulator, &event, 0);
	ws_simd_unguard(&simd);
}

static const struct {
	const char *name;
	void (*call)(u8 *buf);
	bool is_aes;
} calls[] = {
	{ "ChaCha20", chacha20_stream },
	{ "AES-256", aes256_stream, true },
	{ "an AES-256 key", aes256_key, true },
	{ "a reseed", reseed },
	{ "pools", pools },
};

static bool reads_leave(struct registers *registers, u8 *buf, size_t len)
{
	unsigned int lane;
	size_t at;

	preempt_disable();
	if (wellspring_get_bytes(buf, len))
		memset(buf, 0, len);
	look_at_registers(registers);
	preempt_enable();
	for (lane = 0; lane < ARRAY_SIZE(registers->lanes); lane++) {
		if (!registers->lanes[lane][0])
			continue;
		for (at = 0; at + 8 <= len; at++)
			if (!memcmp(buf + at, registers->lanes[lane], 8))
				return true;
	}
	return false;
}

static int check_registers(struct report *report, struct registers *registers, u8 *buf)
{
	static const size_t lengths[] = { 16, 100, 600, 4096, MOST_BYTES };
	unsigned int index, checked = 0;
	unsigned long flags;

	for (index = 0; index < ARRAY_SIZE(calls); index++) {
		/* Scalar code touches no register, and there is no section. */
		if (calls[index].is_aes && ws_best_backend(WS_AES256) == WS_SCALAR)
			continue;
		flags = keep_others_out();
		fill_registers(registers);
		calls[index].call(buf);
		look_at_registers(registers);
		let_others_in(flags);
		if (memchr_inv(registers, 0, sizeof(*registers)))
			return failed(report, "%s left registers as they were",
				      calls[index].name);
		checked++;
	}
	for (index = 0; index < ARRAY_SIZE(lengths); index++)
		if (reads_leave(registers, buf, lengths[index]))
			return failed(report, "bytes of a read of %zu are in a register",
				      lengths[index]);
	return passed(report, "%u functions and reads of %zu lengths, registers of %u bytes",
		      checked, ARRAY_SIZE(lengths),
		      ws_arch_register_bytes());
}

static int registers_wiped(struct report *report)
{
	struct registers *registers = kmalloc(sizeof(*registers), GFP_KERNEL);
	u8 *buf = kzalloc(MOST_BYTES, GFP_KERNEL);
	int verdict;

	BUILD_BUG_ON(sizeof(struct ws_accumulator) > MOST_BYTES);
	if (registers && buf)
		verdict = check_registers(report, registers, buf);
	else
		verdict = failed(report, "no memory");
	kfree_sensitive(buf);
	kfree(registers);
	return verdict;
}

/* Below the frame of the caller. */
#define STACK_BYTES 1536
#define STACK_WORDS (STACK_BYTES / 4)

static u8 stack_key[WS_KEY_BYTES];

struct left {
	u8 made[4096];
	u32 words[STACK_WORDS];
};

static noinline void fill_stack(void)
{
	u8 stack[STACK_BYTES];

	memset(stack, 0xa5, sizeof(stack));
	barrier_data(stack);
}

/* Calls nothing, so that it does not overwrite the stack that it copies. */
static noinline __no_sanitize_address void copy_stack(u32 *words)
{
	const volatile u32 *end = PTR_ALIGN_DOWN((u32 *)__builtin_frame_address(0), 16);
	unsigned int index;

	for (index = 0; index < STACK_WORDS; index++)
		words[index] = end[(int)index - STACK_WORDS];
}

static __always_inline void quarter_round(u32 *a, u32 *b, u32 *c, u32 *d)
{
	*a += *b; *d = rol32(*d ^ *a, 16);
	*c += *d; *b = rol32(*b ^ *c, 12);
	*a += *b; *d = rol32(*d ^ *a, 8);
	*c += *d; *b = rol32(*b ^ *c, 7);
}

static __always_inline void quarter_round_back(u32 *a, u32 *b, u32 *c, u32 *d)
{
	*b = ror32(*b, 7) ^ *c; *c -= *d;
	*d = ror32(*d, 8) ^ *a; *a -= *b;
	*b = ror32(*b, 12) ^ *c; *c -= *d;
	*d = ror32(*d, 16) ^ *a; *a -= *b;
}

/* Two rounds: columns, and diagonals. */
#define EACH_QUARTER(quarter, x)					\
	quarter(&(x)[0], &(x)[4], &(x)[8], &(x)[12]);			\
	quarter(&(x)[1], &(x)[5], &(x)[9], &(x)[13]);			\
	quarter(&(x)[2], &(x)[6], &(x)[10], &(x)[14]);			\
	quarter(&(x)[3], &(x)[7], &(x)[11], &(x)[15])
#define EACH_DIAGONAL(quarter, x)					\
	quarter(&(x)[0], &(x)[5], &(x)[10], &(x)[15]);			\
	quarter(&(x)[1], &(x)[6], &(x)[11], &(x)[12]);			\
	quarter(&(x)[2], &(x)[7], &(x)[8], &(x)[13]);			\
	quarter(&(x)[3], &(x)[4], &(x)[9], &(x)[14])

/* The constants of a state before its rounds. */
static const u8 constants[] = "expand 32-byte k";

static bool is_permuted_state(const u32 *words)
{
	unsigned int round;
	u32 x[16];

	memcpy(x, words, sizeof(x));
	for (round = 0; round < 10; round++) {
		EACH_DIAGONAL(quarter_round_back, x);
		EACH_QUARTER(quarter_round_back, x);
	}
	return !memcmp(x, constants, 16);
}

/* As the library before 2026: the search must find this. */
static void leave_state(u8 *buf)
{
	unsigned int round;
	u32 x[16] = { };

	memcpy(x, constants, 16);
	memcpy(x + 4, stack_key, WS_KEY_BYTES);
	for (round = 0; round < 10; round++) {
		EACH_QUARTER(quarter_round, x);
		EACH_DIAGONAL(quarter_round, x);
	}
	barrier_data(x);
}

static void stream_by(enum ws_cipher cipher, enum ws_backend backend, u8 *buf, size_t len)
{
	struct ws_counter counter = { 1, 0 };
	struct ws_keystream keystream;

	ws_keystream_init(&keystream, cipher, stack_key, &counter);
	keystream.backend = backend;
	ws_keystream_fill(&keystream, buf, len);
	ws_keystream_wipe(&keystream);
}

static void best_stream(enum ws_cipher cipher, u8 *buf, size_t len)
{
	stream_by(cipher, ws_best_backend(cipher), buf, len);
}

static void chacha20_of_a_key(u8 *buf)
{
	best_stream(WS_CHACHA20, buf, WS_KEY_BYTES);
}

static void chacha20_of_a_block(u8 *buf)
{
	best_stream(WS_CHACHA20, buf, 64);
}

static void chacha20_of_a_page(u8 *buf)
{
	best_stream(WS_CHACHA20, buf, 4096);
}

static void chacha20_scalar(u8 *buf)
{
	stream_by(WS_CHACHA20, WS_SCALAR, buf, 200);
}

static void aes256_scalar(u8 *buf)
{
	stream_by(WS_AES256, WS_SCALAR, buf, 200);
}

/* In a section the FPU is in use, so the second section is refused. On arm64 it is not. */
static void stream_refused(enum ws_cipher cipher, u8 *buf)
{
	struct ws_simd simd;

	if (WS_ARCH_SIMD_WANTS_INTERRUPTS || !ws_simd_begin(&simd))
		return;
	best_stream(cipher, buf, 4096);
	ws_simd_end(&simd);
}

static void chacha20_refused(u8 *buf)
{
	stream_refused(WS_CHACHA20, buf);
}

static void aes256_refused(u8 *buf)
{
	stream_refused(WS_AES256, buf);
}

static void read_concurrent(u8 *buf)
{
	if (ws_read(WS_CONCURRENT, buf, 32))
		memset(buf, 0, 32);
}

static void read_long_per_cpu(u8 *buf)
{
	if (ws_read(WS_PER_CPU, buf, 600))
		memset(buf, 0, 600);
}

/*
 * And how many of the bytes are searched for. No more than were made: behind these are zeros, and a
 * last byte with seven zeros is any small number on the stack.
 */
static const struct {
	const char *name;
	void (*call)(u8 *buf);
	size_t len;
} stack_calls[] = {
	{ "a key by ChaCha20", chacha20_of_a_key, WS_KEY_BYTES },
	{ "a block of ChaCha20", chacha20_of_a_block, 64 },
	{ "a page of ChaCha20", chacha20_of_a_page, 600 },
	{ "scalar ChaCha20", chacha20_scalar, 200 },
	{ "scalar AES-256", aes256_scalar, 200 },
	{ "ChaCha20 in a refused section", chacha20_refused, 600 },
	{ "AES-256 in a refused section", aes256_refused, 600 },
	{ "a read of 32 bytes", read_concurrent, 32 },
	{ "a read of 600 bytes", read_long_per_cpu, 600 },
};

static noinline void call_and_copy(void (*call)(u8 *buf), struct left *left)
{
	unsigned long flags = keep_others_out();

	fill_stack();
	call(left->made);
	copy_stack(left->words);
	let_others_in(flags);
}

/* Whether 8 bytes of a secret are at this place. */
static bool has_piece(const u32 *words, const u8 *secret, size_t len)
{
	size_t at;

	for (at = 0; at + 8 <= len; at++)
		if (memchr_inv(secret + at, 0, 8) && !memcmp(words, secret + at, 8))
			return true;
	return false;
}

/* What is on the stack, or NULL. */
static const char *find_left(const struct left *left, size_t len)
{
	unsigned int index;

	for (index = 0; index + 16 <= STACK_WORDS; index++) {
		if (is_permuted_state(left->words + index))
			return "a state of ChaCha20";
		if (has_piece(left->words + index, stack_key, sizeof(stack_key)))
			return "a part of the key";
		if (has_piece(left->words + index, left->made, len))
			return "bytes that it made";
	}
	return NULL;
}

static int check_stack(struct report *report, struct left *left)
{
	unsigned int index = 0;
	const char *found;

	get_random_bytes(stack_key, sizeof(stack_key));
	call_and_copy(leave_state, left);
	while (index + 16 <= STACK_WORDS && !is_permuted_state(left->words + index))
		index++;
	if (index + 16 > STACK_WORDS)
		return failed(report, "the search does not find a state that was left");
	for (index = 0; index < ARRAY_SIZE(stack_calls); index++) {
		memset(left, 0, sizeof(*left));
		call_and_copy(stack_calls[index].call, left);
		found = find_left(left, stack_calls[index].len);
		if (found)
			return failed(report, "%s left %s on the stack",
				      stack_calls[index].name, found);
	}
	return passed(report, "%zu calls left nothing on the stack", ARRAY_SIZE(stack_calls));
}

static int stack_wiped(struct report *report)
{
	struct left *left = kzalloc(sizeof(*left), GFP_KERNEL);
	int verdict = left ? check_stack(report, left) : failed(report, "no memory");

	kfree_sensitive(left);
	return verdict;
}

const struct test registers_tests[] = {
	{ "registers", registers_wiped },
	{ "stack", stack_wiped },
	{}
};
