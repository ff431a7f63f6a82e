// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What reads, keys and hashes leave in vector registers: nothing. A test fills the registers,
 * calls a function, while nothing else can come, and looks at them. Then it
 * reads as tasks do, and looks for the bytes that the read returned.
 */
#include <linux/slab.h>

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

	ws_accumulator_init(accumulator);
	ws_accumulator_absorb(accumulator, &event, 0);
	ws_accumulator_absorb(accumulator, &event, 0);
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

const struct test registers_tests[] = {
	{ "registers", registers_wiped },
	{}
};
