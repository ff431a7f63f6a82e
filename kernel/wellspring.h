/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * For other modules: secret bytes and numbers, and bytes without secrecy. tap.c describes the
 * functions.
 */
#ifndef WELLSPRING_H
#define WELLSPRING_H

#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/types.h>

int __must_check wellspring_get_bytes(void *buf, size_t len);
int __must_check wellspring_get_early_bytes(void *buf, size_t len);
int __must_check wellspring_wait_until_seeded(void);
int __must_check wellspring_get_u32_below(u32 *number, u32 ceiling);
void wellspring_get_pseudo_bytes(void *buf, size_t len);

/**
 * wellspring_get_u64() - a secret number
 * @number: memory for it
 *
 * As wellspring_get_bytes(): by default 8 bytes that the tap of this CPU and context has
 * ready, and erases. No FPU section, except in each 124th call, which makes 992 bytes.
 *
 * Context: and Return: as wellspring_get_bytes().
 */
static inline int __must_check wellspring_get_u64(u64 *number)
{
	return wellspring_get_bytes(number, sizeof(*number));
}

/**
 * wellspring_get_u32() - a secret number
 * @number: memory for it
 *
 * Context: and Return: as wellspring_get_bytes().
 */
static inline int __must_check wellspring_get_u32(u32 *number)
{
	return wellspring_get_bytes(number, sizeof(*number));
}

/* For tasks, for softirqs, and for each depth of hard interrupts and NMIs. */
#define WELLSPRING_PSEUDO_DEPTHS (2 + (HARDIRQ_MASK >> HARDIRQ_SHIFT))

/* Each has two, so that the numbers of a long read need not wait for each other. */
#define WELLSPRING_PSEUDO_LANES 2

struct ws_pseudo {
	u64 words[2];
};

/* For the functions below alone. */
struct wellspring_pseudo_states {
	struct ws_pseudo of_depth[WELLSPRING_PSEUDO_DEPTHS][WELLSPRING_PSEUDO_LANES];
};
DECLARE_PER_CPU_ALIGNED(struct wellspring_pseudo_states, wellspring_pseudo_states);

/*
 * The first of the two states of this CPU and depth. An NMI counts as a hard interrupt too.
 * Preemption is off.
 */
static __always_inline struct ws_pseudo *wellspring_pseudo_state(void)
{
	unsigned int depth = (preempt_count() & HARDIRQ_MASK) >> HARDIRQ_SHIFT;

	depth = depth ? depth + 1 : !!in_serving_softirq();
	return this_cpu_ptr(&wellspring_pseudo_states)->of_depth[depth];
}

static __always_inline u64 wellspring_pseudo_step(struct ws_pseudo *state)
{
	u64 x = state->words[0];
	u64 y = state->words[1];
	u64 result = x + y;

	state->words[0] = y;
	x ^= x << 23;
	state->words[1] = x ^ y ^ (x >> 18) ^ (y >> 5);
	return result;
}

/**
 * wellspring_get_pseudo_u64() - a number without secrecy, in a few cycles
 *
 * As wellspring_get_pseudo_bytes(), inlined.
 *
 * Context: Any, NMI included.
 * Return: the number.
 */
static __always_inline u64 wellspring_get_pseudo_u64(void)
{
	u64 number;

	preempt_disable_notrace();
	number = wellspring_pseudo_step(wellspring_pseudo_state());
	preempt_enable_notrace();
	return number;
}

#endif
