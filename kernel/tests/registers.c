// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What reads, keys and hashes leave in vector registers: nothing. A test fills the registers,
 * calls a function with interrupts off, so that nothing else comes, and looks at them. Then it
 * reads as tasks do, and looks for the bytes that the read returned.
 */
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#include <linux/slab.h>

#include "test.h"

#define MOST_BYTES 9000

/* As many 16-byte lanes as a CPU with AVX-512 has. */
struct registers {
	u64 lanes[32 * 4][2];
};

static bool has_ymm(void)
{
	return cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
}

static bool has_zmm(void)
{
	return cpu_has_xfeatures(XFEATURE_MASK_AVX512, NULL);
}

#define EACH(instruction)						\
	instruction(0) instruction(1) instruction(2) instruction(3)	\
	instruction(4) instruction(5) instruction(6) instruction(7)	\
	instruction(8) instruction(9) instruction(10) instruction(11)	\
	instruction(12) instruction(13) instruction(14) instruction(15)
#define EACH_MORE(instruction)						\
	instruction(16) instruction(17) instruction(18) instruction(19)	\
	instruction(20) instruction(21) instruction(22) instruction(23)	\
	instruction(24) instruction(25) instruction(26) instruction(27)	\
	instruction(28) instruction(29) instruction(30) instruction(31)
#define STORE_XMM(i) "movups %%xmm" #i ", 16 * " #i "(%0)\n\t"
#define STORE_YMM(i) "vmovups %%ymm" #i ", 32 * " #i "(%0)\n\t"
#define STORE_ZMM(i) "vmovups %%zmm" #i ", 64 * " #i "(%0)\n\t"
#define LOAD_XMM(i) "movups 16 * " #i "(%0), %%xmm" #i "\n\t"
#define LOAD_YMM(i) "vmovups 32 * " #i "(%0), %%ymm" #i "\n\t"
#define LOAD_ZMM(i) "vmovups 64 * " #i "(%0), %%zmm" #i "\n\t"

/* All that this CPU has; the rest are zeros. Preemption is off. */
static void look_at_registers(struct registers *registers)
{
	memset(registers, 0, sizeof(*registers));
	kernel_fpu_begin();
	if (has_zmm())
		asm volatile(EACH(STORE_ZMM) EACH_MORE(STORE_ZMM)
			     : : "r" (registers) : "memory");
	else if (has_ymm())
		asm volatile(EACH(STORE_YMM) : : "r" (registers) : "memory");
	else
		asm volatile(EACH(STORE_XMM) : : "r" (registers) : "memory");
	kernel_fpu_end();
}

static void fill_registers(struct registers *registers)
{
	memset(registers, 0xa5, sizeof(*registers));
	kernel_fpu_begin();
	if (has_zmm())
		asm volatile(EACH(LOAD_ZMM) EACH_MORE(LOAD_ZMM)
			     : : "r" (registers) : "memory");
	else if (has_ymm())
		asm volatile(EACH(LOAD_YMM) : : "r" (registers) : "memory");
	else
		asm volatile(EACH(LOAD_XMM) : : "r" (registers) : "memory");
	kernel_fpu_end();
}

static void keystream_of(enum ws_cipher cipher, u8 *bytes, size_t length)
{
	static const u8 key[WS_KEY_BYTES] = { 1, 2, 3 };
	struct ws_counter counter = { 1, 0 };
	struct ws_keystream keystream;

	ws_keystream_init(&keystream, cipher, key, &counter);
	/* The key alone, where no bytes are asked for. */
	if (length)
		ws_keystream_fill(&keystream, bytes, length);
	ws_keystream_wipe(&keystream);
}

static void chacha20_stream(u8 *bytes)
{
	keystream_of(WS_CHACHA20, bytes, 4096);
}

static void aes256_stream(u8 *bytes)
{
	keystream_of(WS_AES256, bytes, 4096);
}

static void aes256_key(u8 *bytes)
{
	keystream_of(WS_AES256, bytes, 0);
}

static void reseed(u8 *bytes)
{
	struct ws_generator generator;

	ws_generator_init(&generator, WS_CHACHA20);
	ws_generator_reseed(&generator, bytes, 1024);
	memzero_explicit(&generator, sizeof(generator));
}

/* @bytes has room for the pools. */
static void pools(u8 *bytes)
{
	struct ws_accumulator *accumulator = (struct ws_accumulator *)bytes;
	struct ws_event event = { .bytes = 32 };

	ws_accumulator_init(accumulator);
	ws_accumulator_absorb(accumulator, &event, 0);
	ws_accumulator_absorb(accumulator, &event, 0);
}

static const struct {
	const char *name;
	void (*call)(u8 *bytes);
	bool is_aes;
} calls[] = {
	{ "ChaCha20", chacha20_stream },
	{ "AES-256", aes256_stream, true },
	{ "an AES-256 key", aes256_key },
	{ "a reseed", reseed },
	{ "pools", pools },
};

static bool reads_leave(struct registers *registers, u8 *bytes, size_t length)
{
	unsigned int lane;
	size_t at;

	preempt_disable();
	if (wellspring_get_bytes(bytes, length))
		memset(bytes, 0, length);
	look_at_registers(registers);
	preempt_enable();
	for (lane = 0; lane < ARRAY_SIZE(registers->lanes); lane++) {
		if (!registers->lanes[lane][0])
			continue;
		for (at = 0; at + 8 <= length; at++)
			if (!memcmp(bytes + at, registers->lanes[lane], 8))
				return true;
	}
	return false;
}

static int check_registers(struct report *report, struct registers *registers, u8 *bytes)
{
	static const size_t lengths[] = { 16, 100, 600, 4096, MOST_BYTES };
	unsigned int index, checked = 0;
	unsigned long flags;

	for (index = 0; index < ARRAY_SIZE(calls); index++) {
		/* Scalar code touches no register, and there is no section. */
		if (calls[index].is_aes && ws_best_backend(WS_AES256) == WS_SCALAR)
			continue;
		local_irq_save(flags);
		fill_registers(registers);
		calls[index].call(bytes);
		look_at_registers(registers);
		local_irq_restore(flags);
		if (memchr_inv(registers, 0, sizeof(*registers)))
			return failed(report, "%s left registers as they were",
				      calls[index].name);
		checked++;
	}
	for (index = 0; index < ARRAY_SIZE(lengths); index++)
		if (reads_leave(registers, bytes, lengths[index]))
			return failed(report, "bytes of a read of %zu are in a register",
				      lengths[index]);
	return passed(report, "%u functions and reads of %zu lengths, registers of %s bytes",
		      checked, ARRAY_SIZE(lengths),
		      has_zmm() ? "64" : has_ymm() ? "32" : "16");
}

static int registers_wiped(struct report *report)
{
	struct registers *registers = kmalloc(sizeof(*registers), GFP_KERNEL);
	u8 *bytes = kzalloc(MOST_BYTES, GFP_KERNEL);
	int verdict;

	BUILD_BUG_ON(sizeof(struct ws_accumulator) > MOST_BYTES);
	if (registers && bytes)
		verdict = check_registers(report, registers, bytes);
	else
		verdict = failed(report, "no memory");
	kfree_sensitive(bytes);
	kfree(registers);
	return verdict;
}

const struct test registers_tests[] = {
	{ "registers", registers_wiped },
	{}
};
