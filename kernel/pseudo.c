// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Pseudo bytes: xorshift128+ (Vigna, "Further scramblings of Marsaglia's xorshift
 * generators", 2014), 16 bytes a CPU, states 2^64 steps apart.
 *
 * The Solaris Porting Layer kept this generator per CPU too, and an interrupt that
 * came between its load and its store got the numbers of the call that it
 * interrupted. A state for each context would cost three times the memory. Here a
 * call steps in registers and then replaces the state by one instruction: a
 * CMPXCHG16B *without* LOCK, which no interrupt can divide, and which nothing but the
 * CPU's own code ever contends for, so that it orders nothing and owns no bus. If the
 * state is still the one that the call began with, the numbers are the call's; if
 * not, an interrupt (or another CPU, after a migration) took them, and the call makes
 * others. Preemption and interrupts stay on, and an NMI may call too.
 *
 * A state recurs after 2^128 - 1 steps, so "still the same" means that nobody stepped.
 */
#include <asm/cpufeature.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/string.h>

#include "internal.h"

/* The bytes for one replacement of the state; so much is made again after one fails. */
#define RUN_BYTES 64

static DEFINE_PER_CPU(struct ws_pseudo, state_of_cpu);

u64 ws_pseudo_step(struct ws_pseudo *state)
{
	u64 x = state->words[0];
	u64 y = state->words[1];
	u64 result = x + y;

	state->words[0] = y;
	x ^= x << 23;
	state->words[1] = x ^ y ^ (x >> 18) ^ (y >> 5);
	return result;
}
WS_EXPORT_FOR_TEST(ws_pseudo_step);

void ws_pseudo_jump(struct ws_pseudo *state)
{
	static const u64 polynomial[2] = { 0x8a5cd789635d2dff, 0x121fd2155c472f96 };
	struct ws_pseudo sum = { };
	unsigned int bit;

	for (bit = 0; bit < 128; bit++) {
		if (polynomial[bit / 64] >> (bit % 64) & 1) {
			sum.words[0] ^= state->words[0];
			sum.words[1] ^= state->words[1];
		}
		ws_pseudo_step(state);
	}
	*state = sum;
}
WS_EXPORT_FOR_TEST(ws_pseudo_jump);

/* Makes this CPU's state @next if it is @old, in one instruction; says whether it was. */
static bool replace(const struct ws_pseudo *old, const struct ws_pseudo *next)
{
	u64 low = old->words[0], high = old->words[1];
	bool replaced;

	/* The kernel's own macro for this changed its name twice since 6.1. */
	asm volatile("cmpxchg16b %%gs:(%[state])"
		     : "=@ccz" (replaced), "+a" (low), "+d" (high)
		     : [state] "r" ((__force unsigned long)&state_of_cpu),
		       "b" (next->words[0]), "c" (next->words[1])
		     : "memory");
	return replaced;
}

static void make(struct ws_pseudo *state, u8 *destination, size_t bytes)
{
	while (bytes) {
		size_t step = min(bytes, sizeof(u64));
		__le64 word = cpu_to_le64(ws_pseudo_step(state));

		memcpy(destination, &word, step);
		destination += step;
		bytes -= step;
	}
}

/**
 * wellspring_get_pseudo_bytes() - bytes without secrecy, at the price of a few cycles
 * @destination: where to
 * @bytes: how many
 *
 * For schedulers, sampling and test data; never for keys: whoever sees 16 bytes can
 * tell all that follow and all that were. No lock, no atomic instruction, no barrier.
 * Whoever interrupts a call gets other numbers than the call it interrupted.
 *
 * The numbers are xorshift128+ with shifts 23, 18 and 5 as little endian words of
 * 8 bytes; the rest of a last word that is not whole is thrown away.
 *
 * Context: Any, NMI included.
 */
void wellspring_get_pseudo_bytes(void *destination, size_t bytes)
{
	while (bytes) {
		size_t step = min_t(size_t, bytes, RUN_BYTES);
		struct ws_pseudo old, next;

		do {
			/* Halves of two states are no state, and are not replaced. */
			old.words[0] = this_cpu_read(state_of_cpu.words[0]);
			old.words[1] = this_cpu_read(state_of_cpu.words[1]);
			next = old;
			make(&next, destination, step);
		} while (!replace(&old, &next));
		destination += step;
		bytes -= step;
	}
}
EXPORT_SYMBOL_GPL(wellspring_get_pseudo_bytes);

int ws_pseudo_init(void)
{
	struct ws_pseudo state;
	int cpu;

	if (!boot_cpu_has(X86_FEATURE_CX16))
		return -ENODEV;
	do {
		get_random_bytes(&state, sizeof(state));
	} while (!(state.words[0] | state.words[1]));
	for_each_possible_cpu(cpu) {
		per_cpu(state_of_cpu, cpu) = state;
		ws_pseudo_jump(&state);
	}
	return 0;
}
