// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Pseudo bytes: xorshift128+ (Vigna, "Further scramblings of Marsaglia's xorshift
 * generators", 2014), 16 bytes for each CPU, with states 2^64 steps apart.
 *
 * The Solaris Porting Layer had this generator per CPU too. There, an interrupt between
 * the load and the store of the state got the numbers of the call that it interrupted.
 * A state for each context would take three times the memory. Here a call steps in
 * registers, and then replaces the state with one instruction: CMPXCHG16B *without*
 * LOCK. No interrupt can come in the middle of it, and since only this CPU uses the
 * state, it needs no LOCK: it orders nothing and locks no bus. On arm64 LDXP and STXP do that
 * (arch-pseudo.h). If the state is still
 * the one that the call started from, the numbers belong to this call. If not, an
 * interrupt (or another CPU, after a migration) took them, and the call makes others.
 * Preemption and interrupts stay on, and an NMI may call too.
 *
 * A state repeats only after 2^128 - 1 steps, so "still the same" means that no other
 * context stepped.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/string.h>

#include "arch-pseudo.h"
#include "compat.h"
#include "pseudo.h"
#include "testing.h"
#include "wellspring.h"

/*
 * The bytes for one replacement of the state, made again if that fails: half a microsecond,
 * in which few interrupts come.
 */
#define RUN_BYTES 4096

static DEFINE_PER_CPU(struct ws_pseudo, state_of_cpu);

static __always_inline u64 step_state(struct ws_pseudo *state)
{
	u64 x = state->words[0];
	u64 y = state->words[1];
	u64 result = x + y;

	state->words[0] = y;
	x ^= x << 23;
	state->words[1] = x ^ y ^ (x >> 18) ^ (y >> 5);
	return result;
}

u64 ws_pseudo_step(struct ws_pseudo *state)
{
	return step_state(state);
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

/* The state stays in registers, and only the last word may be cut. */
static __always_inline struct ws_pseudo make_bytes(struct ws_pseudo state, u8 *buf,
						   size_t len)
{
	for (; len >= sizeof(u64); len -= sizeof(u64)) {
		*(ws_unaligned_u64 *)buf =
			(__force u64)cpu_to_le64(step_state(&state));
		buf += sizeof(u64);
	}
	if (len) {
		__le64 word = cpu_to_le64(step_state(&state));

		memcpy(buf, &word, len);
	}
	return state;
}

/**
 * wellspring_get_pseudo_bytes() - bytes without secrecy, in a few cycles
 * @buf: memory for the bytes
 * @len: how many bytes
 *
 * For schedulers, sampling and test data. Never for keys: 16 bytes of output reveal all
 * earlier and all later output. No lock, no atomic instruction, no barrier. A call that
 * interrupts another call gets other numbers.
 *
 * The numbers are xorshift128+ with shifts 23, 18 and 5, as little endian words of
 * 8 bytes. The unused part of the last word is thrown away.
 *
 * Context: Any, NMI included.
 */
void wellspring_get_pseudo_bytes(void *buf, size_t len)
{
	while (len) {
		size_t step = min_t(size_t, len, RUN_BYTES);
		struct ws_pseudo old, next;

		do {
			/* If these are halves of two states, the replacement fails. */
			old.words[0] = this_cpu_read(state_of_cpu.words[0]);
			old.words[1] = this_cpu_read(state_of_cpu.words[1]);
			next = make_bytes(old, buf, step);
		} while (!ws_arch_replace(&state_of_cpu, &old, &next));
		buf += step;
		len -= step;
	}
}
EXPORT_SYMBOL_GPL(wellspring_get_pseudo_bytes);

int ws_pseudo_init(void)
{
	struct ws_pseudo state;
	int cpu;

	if (!ws_arch_can_replace())
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
