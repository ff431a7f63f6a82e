// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Traces: what reads leave in vector registers, on the stack, and in all memory.
 */
#include <linux/bitops.h>
#include <linux/cpu.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "test.h"

/*
 * What reads, keys and hashes leave in vector registers and on the stack: nothing. A test fills
 * the registers, calls a function, while nothing else can come, and looks at them. Then it
 * reads as tasks do, and looks for the bytes that the read returned. Another one fills the stack
 * instead. It looks for the key and for the bytes there; for a state of ChaCha20 after its rounds:
 * from each word on it computes the rounds backwards; and for what a block of SHA-256 goes through.
 */

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

/* As the library before 2026: the search must find this and the next control. */
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

/* What a block of SHA-256 goes through. */
struct hashed {
	u32 before[8];		/* the state, which no longer is the public one after a block */
	u32 schedule[64];	/* the message, and what it becomes */
	u32 sums[64];		/* the same plus the rounds' constants, as SIMD code has them */
	u32 after[8];
	u32 last[16];		/* the working variables of the last eight rounds */
};

#define HASHED_WORDS (offsetof(struct hashed, last) / sizeof(u32))

/* FIPS 180-4, 4.2.2 and 5.3.3. */
static const u32 sha256_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
static const u32 sha256_start[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

/* FIPS 180-4, 6.2.2. */
static void hash_block(struct hashed *hashed, const u32 state[8], const __be32 block[16])
{
	u32 *w = hashed->schedule, x[8], first, second;
	unsigned int i;

	memcpy(x, state, sizeof(x));
	memcpy(hashed->before, state, sizeof(x));
	for (i = 0; i < 64; i++) {
		if (i < 16)
			w[i] = be32_to_cpu(block[i]);
		else
			w[i] = w[i - 16] + w[i - 7] +
			       (ror32(w[i - 15], 7) ^ ror32(w[i - 15], 18) ^ w[i - 15] >> 3) +
			       (ror32(w[i - 2], 17) ^ ror32(w[i - 2], 19) ^ w[i - 2] >> 10);
		hashed->sums[i] = w[i] + sha256_constants[i];
		first = x[7] + (ror32(x[4], 6) ^ ror32(x[4], 11) ^ ror32(x[4], 25)) +
			((x[4] & x[5]) ^ (~x[4] & x[6])) + hashed->sums[i];
		second = (ror32(x[0], 2) ^ ror32(x[0], 13) ^ ror32(x[0], 22)) +
			 ((x[0] & x[1]) ^ (x[0] & x[2]) ^ (x[1] & x[2]));
		memmove(x + 1, x, sizeof(x) - sizeof(*x));
		x[0] = first + second;
		x[4] += first;
		hashed->last[i * 2 % 16] = x[0];
		hashed->last[i * 2 % 16 + 1] = x[4];
	}
	for (i = 0; i < 8; i++)
		hashed->after[i] = state[i] + x[i];
}

/* What is hashed, and what the last block of each way to hash it goes through. */
static __be32 message[32];
static struct hashed mixed, reseeded;

static void prepare_hashes(void)
{
	/* The ends of messages of 192 and of 32 bytes. */
	static const __be32 ends[2][16] = {
		{ [0] = cpu_to_be32(1u << 31), [15] = cpu_to_be32(8 * 192) },
		{ [8] = cpu_to_be32(1u << 31), [15] = cpu_to_be32(8 * 32) },
	};
	static const __be32 zeros[16];
	__be32 digest[16];
	unsigned int i;

	get_random_bytes(message, sizeof(message));
	hash_block(&mixed, sha256_start, message);
	hash_block(&mixed, mixed.after, message + 16);
	/* ws_generator_reseed(): SHA256(SHA256(a block of zeros | message)). */
	hash_block(&reseeded, sha256_start, zeros);
	hash_block(&reseeded, reseeded.after, message);
	hash_block(&reseeded, reseeded.after, message + 16);
	hash_block(&reseeded, reseeded.after, ends[0]);
	memcpy(digest, ends[1], sizeof(digest));
	for (i = 0; i < 8; i++)
		digest[i] = cpu_to_be32(reseeded.after[i]);
	hash_block(&reseeded, sha256_start, digest);
	/* No secrets: not to be found. */
	get_random_bytes(reseeded.before, sizeof(reseeded.before));
	get_random_bytes(reseeded.schedule + 8, 32);
	get_random_bytes(reseeded.sums + 8, 32);
}

/* As the library's SHA-256 by AVX2. */
static void leave_sums(u8 *buf)
{
	u32 sums[64];

	memcpy(sums, mixed.sums, sizeof(sums));
	barrier_data(sums);
}

static void mix_message(u8 *buf)
{
	struct ws_accumulator *accumulator = (struct ws_accumulator *)buf;

	BUILD_BUG_ON(sizeof(*accumulator) > sizeof_field(struct left, made));
	ws_accumulator_init(accumulator);
	ws_accumulator_mix(accumulator, message, sizeof(message), 0);
}

/* Leaves the key to be found, and to be compared. */
static void reseed_by_message(u8 *buf)
{
	struct ws_generator *generator = (struct ws_generator *)(buf + WS_KEY_BYTES);

	ws_generator_init(generator, WS_CHACHA20);
	ws_generator_reseed(generator, message, sizeof(message));
	memcpy(buf, generator->key, WS_KEY_BYTES);
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
	{ "a message for a pool", mix_message, 0 },
	{ "a reseed", reseed_by_message, WS_KEY_BYTES },
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

/* Two words in a row, or one of the last variables, since a compiler may keep any of them. */
static bool is_hashed(const u32 *words, const struct hashed *hashed)
{
	const u32 *secrets = hashed->before;
	unsigned int i;

	for (i = 0; i + 1 < HASHED_WORDS; i++)
		if (words[0] == secrets[i] && words[1] == secrets[i + 1])
			return true;
	for (i = 0; i < ARRAY_SIZE(hashed->last); i++)
		if (words[0] == hashed->last[i])
			return true;
	return false;
}

static const char state_of_chacha20[] = "a state of ChaCha20";
static const char work_of_sha256[] = "a state or the schedule of SHA-256";

/* What is on the stack, or NULL. */
static const char *find_left(const struct left *left, size_t len)
{
	unsigned int index;

	for (index = 0; index + 16 <= STACK_WORDS; index++) {
		if (is_permuted_state(left->words + index))
			return state_of_chacha20;
		if (has_piece(left->words + index, stack_key, sizeof(stack_key)))
			return "a part of the key";
		if (has_piece(left->words + index, left->made, len))
			return "bytes that it made";
		if (has_piece(left->words + index, (u8 *)message, sizeof(message)))
			return "a part of the message";
		if (is_hashed(left->words + index, &mixed) ||
		    is_hashed(left->words + index, &reseeded))
			return work_of_sha256;
	}
	return NULL;
}

static int check_stack(struct report *report, struct left *left)
{
	static const struct {
		void (*call)(u8 *buf);
		const char *leaves;
	} controls[] = { { leave_state, state_of_chacha20 }, { leave_sums, work_of_sha256 } };
	const __be32 *key = (const __be32 *)left->made;
	unsigned int index;
	const char *found;

	get_random_bytes(stack_key, sizeof(stack_key));
	prepare_hashes();
	for (index = 0; index < ARRAY_SIZE(controls); index++) {
		call_and_copy(controls[index].call, left);
		if (find_left(left, 0) != controls[index].leaves)
			return failed(report, "the search does not find %s that was left",
				      controls[index].leaves);
	}
	for (index = 0; index < ARRAY_SIZE(stack_calls); index++) {
		memset(left, 0, sizeof(*left));
		call_and_copy(stack_calls[index].call, left);
		found = find_left(left, stack_calls[index].len);
		if (found)
			return failed(report, "%s left %s on the stack",
				      stack_calls[index].name, found);
	}
	/* The last call is a reseed. */
	for (index = 0; index < ARRAY_SIZE(reseeded.after); index++)
		if (be32_to_cpu(key[index]) != reseeded.after[index])
			return failed(report, "the search has another SHA-256 than the library");
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

/*
 * What reads leave behind. For a moment probes record, in a form that is found nowhere
 * else, every key that makes output, every seed, the noise of the pools that the next
 * reseeds use, and what users wrote. After that all of them are used up. Output is recorded
 * as well, and its last reader wipes it. So none of it may be in memory, nor in the vector
 * registers of the CPUs, which idle after a last read. Memory is searched from outside: an
 * emulator writes all of it to a file, which has the records too, and shows the registers
 * (dev/rig/src/kernel_test/secrets.rs).
 */

#define RECORDS 4096
#define SECRET_BYTES 32
/* The last read on a CPU, and room for the last reads on all CPUs. */
#define LAST_BYTES 4096
#define LAST_RECORDS (8 * LAST_BYTES / SECRET_BYTES)
/* Each byte is kept with these bits changed, so that a record is not a finding. */
#define MASK 0x5a
#define PERIOD_NS 500000
#define TIME_MS 200
/* Pool 3, the last of these, is emptied by every 8th reseed; use_up() makes 128. */
#define POOLS_USED_UP 4

enum kind { KEY = 1, SEED, NOISE, WRITTEN, OUTPUT, LAST, KINDS };

/* One piece of memory, which the search knows by its first words. */
struct records {
	u8 title[32];
	__le32 count;
	__le32 unused[7];
	struct {
		__le32 kind;
		u8 masked[SECRET_BYTES];
	} all[RECORDS];
};

static struct records *records;
static atomic_t recorded;
static u32 hits[WS_CONTEXTS];
static u8 *planted;

/* In any context. A byte at a time, so that the compiler keeps no copy. */
static void record(enum kind kind, const u8 *secret)
{
	unsigned int most = kind == LAST ? RECORDS : RECORDS - LAST_RECORDS, byte;
	unsigned int number = atomic_fetch_add_unless(&recorded, 1, most);

	if (number >= most)
		return;
	records->all[number].kind = cpu_to_le32(kind);
	for (byte = 0; byte < SECRET_BYTES; byte++)
		WRITE_ONCE(records->all[number].masked[byte],
			   READ_ONCE(secret[byte]) ^ MASK);
}

static void record_all(enum kind kind, const u8 *buf, size_t len)
{
	for (; len >= SECRET_BYTES; len -= SECRET_BYTES, buf += SECRET_BYTES)
		record(kind, buf);
}

/*
 * ws_context() of the probed function. A probe by a breakpoint runs as an NMI, which counts
 * as a hard interrupt more. Probes by ftrace do not, which modules built by clang may lack.
 */
static enum ws_context probed_context(void)
{
	unsigned int hardirqs = preempt_count() & HARDIRQ_MASK;

	if (in_nmi())
		hardirqs -= HARDIRQ_OFFSET;
	if (hardirqs)
		return WS_HARDIRQ;
	return in_serving_softirq() ? WS_SOFTIRQ : WS_TASK;
}

/* ws_keystream_init(keystream, cipher, key, counter): every key there is. */
static int on_key(struct kprobe *probe, struct pt_regs *registers)
{
	record(KEY, (const u8 *)regs_get_kernel_argument(registers, 2));
	hits[probed_context()]++;
	return 0;
}

/* ws_generator_reseed(generator, seed, bytes): digests of pools, 32 bytes each. */
static int on_seed(struct kprobe *probe, struct pt_regs *registers)
{
	const u8 *seed = (const u8 *)regs_get_kernel_argument(registers, 1);

	record_all(SEED, seed, regs_get_kernel_argument(registers, 2));
	return 0;
}

/* ws_accumulator_absorb(accumulator, event, pool_number) */
static int on_noise(struct kprobe *probe, struct pt_regs *registers)
{
	const struct ws_event *event = (const struct ws_event *)
		regs_get_kernel_argument(registers, 1);
	unsigned int pool = regs_get_kernel_argument(registers, 2);

	if (pool % WS_POOLS < POOLS_USED_UP && event->bytes == SECRET_BYTES)
		record(NOISE, event->data);
	return 0;
}

/* ws_accumulator_mix(accumulator, data, bytes, credit_bits): hashes of what was written */
static int on_mixed(struct kprobe *probe, struct pt_regs *registers)
{
	if (regs_get_kernel_argument(registers, 2) == SECRET_BYTES)
		record(NOISE, (const u8 *)regs_get_kernel_argument(registers, 1));
	return 0;
}

static struct kprobe probes[] = {
	{ .symbol_name = "ws_keystream_init", .pre_handler = on_key },
	{ .symbol_name = "ws_generator_reseed", .pre_handler = on_seed },
	{ .symbol_name = "ws_accumulator_absorb", .pre_handler = on_noise },
	{ .symbol_name = "ws_accumulator_mix", .pre_handler = on_mixed },
};

static void read_here(int cpu, void *argument)
{
	u8 bytes[100];

	if (wellspring_get_bytes(bytes, sizeof(bytes)))
		WRITE_ONCE(*(int *)argument, -EIO);
	memzero_explicit(bytes, sizeof(bytes));
}

static bool all_contexts_read(void *unused)
{
	unsigned int context;

	for (context = 0; context < WS_CONTEXTS; context++)
		if (!READ_ONCE(hits[context]))
			return false;
	return true;
}

/* Reads in softirqs and hard interrupts of all CPUs. */
static int read_in_interrupts(void)
{
	int error = 0;
	struct timers softirqs = { .function = read_here, .argument = &error,
				   .softirq = true, .period_ns = PERIOD_NS };
	struct timers hardirqs = { .function = read_here, .argument = &error,
				   .period_ns = PERIOD_NS + 7000 };

	if (timers_start(&softirqs))
		return -ENOMEM;
	if (timers_start(&hardirqs)) {
		timers_stop(&softirqs);
		return -ENOMEM;
	}
	/* Each bump of a reseed has every tap fetch a new key. */
	if (ws_reseed() || !wait_until(all_contexts_read, NULL))
		error = -ETIMEDOUT;
	timers_stop(&hardirqs);
	timers_stop(&softirqs);
	return error;
}

static int read_device(u8 *buf, size_t len)
{
	struct file *file = filp_open("/dev/wellspring", O_RDONLY, 0);
	loff_t position = 0;
	ssize_t ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = kernel_read(file, buf, len, &position);
	filp_close(file, NULL);
	return ret == len ? 0 : -EIO;
}

/* The last blocks of a read would stay in registers and on the stack. */
static void record_end(const u8 *buf, size_t len)
{
	size_t start = len > 512 ? round_down(len - 512, 64) : 0;

	record_all(OUTPUT, buf + start, len - start);
}

/* All ways to read, write and reseed. @buf has room for 9000. */
static int use_everything(u8 *buf)
{
	static const size_t lengths[] = { 16, 33, 600, 5000, 9000 };
	unsigned int index, mode, number;
	int error = 0;

	for (index = 0; index < ARRAY_SIZE(lengths); index++) {
		for (mode = 0; mode < WS_MODES; mode++) {
			error = ws_read(mode, buf, lengths[index]) ?: error;
			record_end(buf, lengths[index]);
		}
		error = read_device(buf, lengths[index]) ?: error;
		record_end(buf, lengths[index]);
		get_random_bytes(buf, SECRET_BYTES);
		record(WRITTEN, buf);
		ws_mix(buf, SECRET_BYTES);
		memzero_explicit(buf, 9000);
		error = ws_credit(64) ?: error;
	}
	for (number = 0; number < ws_nodes_count(); number++)
		ws_nodes_save(number, buf, SECRET_BYTES);
	memzero_explicit(buf, 9000);
	return read_in_interrupts() ?: error;
}

/* Every key and seed of before is used up: all CPUs and nodes take new ones. */
static void use_up(void)
{
	u8 bytes[32];
	unsigned int round, number;

	for (round = 0; round < 2 * WS_MAX_NODES; round++) {
		ws_reseed();
		for (number = 0; number < ws_nodes_count(); number++)
			ws_nodes_save(number, bytes, sizeof(bytes));
	}
	memzero_explicit(bytes, sizeof(bytes));
}

static long read_last(void *buf)
{
	int error = wellspring_get_bytes(buf, LAST_BYTES);

	record_all(LAST, buf, LAST_BYTES);
	memzero_explicit(buf, LAST_BYTES);
	return error;
}

/* By a kernel thread on each CPU, which has nothing to do after that. */
static int read_last_everywhere(u8 *buf)
{
	int cpu, error = 0;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		error = work_on_cpu(cpu, read_last, buf) ?: error;
	cpus_read_unlock();
	return error;
}

static int secrets_record(struct report *report)
{
	static const char title[] = "records of wellspring all masked";
	struct kprobe *all[] = { &probes[0], &probes[1], &probes[2], &probes[3] };
	unsigned int index;
	u8 *buf;
	int error;

	if (records)
		return skipped(report, "recorded already");
	buf = kmalloc(9000, GFP_KERNEL);
	records = kzalloc(sizeof(*records), GFP_KERNEL);
	error = buf && records ? register_kprobes(all, ARRAY_SIZE(all)) :
				   -ENOMEM;
	if (error) {
		kfree(buf);
		kfree(records);
		records = NULL;
		return error == -ENOMEM ? failed(report, "no memory") :
			skipped(report, "no probes in this kernel: %d", error);
	}
	error = use_everything(buf);
	unregister_kprobes(all, ARRAY_SIZE(all));
	use_up();
	error = read_last_everywhere(buf) ?: error;
	kfree_sensitive(buf);
	index = min_t(unsigned int, atomic_read(&recorded), RECORDS);
	records->count = cpu_to_le32(index);
	for (index = 0; index < sizeof(records->title); index++)
		records->title[index] = title[index] ^ MASK;
	if (error)
		return failed(report, "error %d", error);
	return passed(report, "%u pieces of keys, seeds, events, writes and output; keys in tasks %u, softirqs %u, hard interrupts %u",
		      le32_to_cpu(records->count), hits[WS_TASK],
		      hits[WS_SOFTIRQ], hits[WS_HARDIRQ]);
}

/* A key in a register of a CPU that idles. This one returns to a task, which has its own. */
static void plant_register(void *bytes)
{
	struct ws_arch_simd arch;

	if (!ws_arch_simd_usable())
		return;
	ws_arch_simd_begin(&arch);
	ws_arch_register_plant(bytes);
	ws_arch_simd_end(&arch);
}

/* For the search to find: the first key as it was, in memory and in registers. */
static int secrets_plant(struct report *report)
{
	unsigned int byte;

	if (!records || !records->count)
		return skipped(report, "nothing was recorded");
	if (!planted)
		planted = kmalloc(SECRET_BYTES, GFP_KERNEL);
	if (!planted)
		return failed(report, "no memory");
	for (byte = 0; byte < SECRET_BYTES; byte++)
		planted[byte] = records->all[0].masked[byte] ^ MASK;
	on_each_cpu(plant_register, planted, true);
	return passed(report, "a key that was used up is in memory and in registers");
}

void secrets_exit(void)
{
	kfree_sensitive(planted);
	kfree_sensitive(records);
}

const struct test secrets_tests[] = {
	{ "secrets/record", secrets_record },
	{ "secrets/plant", secrets_plant },
	{}
};
