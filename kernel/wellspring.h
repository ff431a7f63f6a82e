/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * For other modules: secret bytes and numbers, and bytes without secrecy. tap.c describes the
 * functions.
 */
#ifndef WELLSPRING_H
#define WELLSPRING_H

#include <linux/atomic.h>
#include <linux/percpu.h>
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

/* 2^64 divided by the golden ratio, and odd: so that 2^64 sums come before one comes again. */
#define WELLSPRING_PSEUDO_STEP 0x9e3779b97f4a7c15ULL

/* For the functions below alone: a sum of steps for each CPU. */
DECLARE_PER_CPU(u64, wellspring_pseudo_sum);

/* Adds to the sum of this CPU. Returns the new one. */
static __always_inline u64 wellspring_pseudo_add(u64 steps)
{
#ifdef CONFIG_UML
	/* There an addition for this CPU makes two system calls. Any CPU may make this one. */
	return atomic64_add_return(steps, (atomic64_t *)raw_cpu_ptr(&wellspring_pseudo_sum));
#else
	u64 __percpu *sum = &wellspring_pseudo_sum;

	/*
	 * The address in a register: with an address relative to the instruction some processors
	 * have each addition wait for the store of the one before, and a number takes twice as long.
	 */
	OPTIMIZER_HIDE_VAR(sum);
	return this_cpu_add_return(*sum, steps);
#endif
}

/* The finish of SplitMix64: no two sums give the same number. */
static __always_inline u64 wellspring_pseudo_number(u64 sum)
{
	sum = (sum ^ (sum >> 30)) * 0xbf58476d1ce4e5b9ULL;
	sum = (sum ^ (sum >> 27)) * 0x94d049bb133111ebULL;
	return sum ^ (sum >> 31);
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
	return wellspring_pseudo_number(wellspring_pseudo_add(WELLSPRING_PSEUDO_STEP));
}

#endif
