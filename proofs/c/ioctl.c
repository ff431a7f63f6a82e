// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * P7, the device: one call of any kind, with any arguments, by any user, whose memory changes and fails as it
 * likes. Credit goes to the pools for an operator alone, and at most 8 bits for each byte that came, at most
 * 256 in all. A write, an early read and a failed call earn none.
 */
#include "linux.h"
#include "internal.h"

static struct task { int unused; } *current;

#include "chardev.c"

wait_queue_head_t ws_phase_wait;
static bool is_operator;
static u32 credit_bits;		/* that the pools were given */
static u64 mixed_bytes;
static unsigned int orders;

bool capable(int capability)
{
	return is_operator;
}

bool copy_from_user(void *to, const void *from, size_t len)
{
	return nondet_bool();
}

bool copy_to_user(void *to, const void *from, size_t len)
{
	return nondet_bool();
}

size_t copy_from_iter(void *to, size_t len, struct iov_iter *iter)
{
	size_t copied = nondet_size();

	__CPROVER_assume(copied <= len && copied <= iter->count);
	iter->count -= copied;
	return copied;
}

void ws_mix(const void *data, size_t len)
{
	__CPROVER_assert(len <= SMALL_BYTES, "no more than was copied");
	mixed_bytes += len;
}

int ws_credit(u32 bits)
{
	credit_bits += bits;
	orders++;
	return nondet_int();
}

int ws_restore(unsigned int number, const u8 *saved, u32 bits)
{
	credit_bits += bits;
	orders++;
	return nondet_int();
}

int ws_reseed(void)
{
	return nondet_int();
}

enum ws_phase ws_phase(void)
{
	return nondet_u32() % 3;
}

bool ws_nodes_statistics(unsigned int number, struct ws_node_statistics *statistics)
{
	statistics->credited_bits = nondet_u64();
	return nondet_bool();
}

int ws_nodes_save(unsigned int number, void *seed, size_t len)
{
	return nondet_int();
}

int wellspring_get_early_bytes(void *buf, size_t len)
{
	return nondet_int();
}

/* What the two arguments of RNDADDENTROPY may bring, for any of them. */
static void formula(void)
{
	int bits = nondet_int(), len = nondet_int(), earned;

	__CPROVER_assume(bits >= 0 && len >= 0);
	earned = ws_ioctl_credit_bits(bits, len);
	__CPROVER_assert(earned >= 0 && earned <= bits && earned <= 256, "no more than was said");
	__CPROVER_assert((u64)earned <= 8 * (u64)len, "nor than 8 bits for each byte");
	REACHED(len > INT_MAX / 8 && earned == 256, "a length whose bits overflow");
}

static void call(void)
{
	unsigned int command = nondet_u32();
	long ret = ws_ioctl(NULL, command, nondet_u64());

	__CPROVER_assert(orders <= 1 && credit_bits <= 256, "one order, of 256 bits at most");
	__CPROVER_assert(!orders || is_operator, "an operator's");
	__CPROVER_assert(command != RNDADDENTROPY || credit_bits <= 8 * mixed_bytes,
			 "what is written with credit has been mixed before");
	__CPROVER_assert(command == RNDADDENTROPY || command == RNDADDTOENTCNT ||
			 command == WELLSPRING_IOC_RESTORE || !orders, "no other call earns credit");
	__CPROVER_assert(command == WELLSPRING_IOC_RESTORE || !orders || !ret, "no failed one either");
	REACHED(command == RNDADDENTROPY && credit_bits == 256, "the most credit");
	REACHED(!is_operator && ret == 0, "a call of any user");
	REACHED(command == WELLSPRING_IOC_RESTORE && credit_bits, "a restore");
}

static void user_writes(void)
{
	struct kiocb iocb = { .ki_flags = nondet_int() };
	struct iov_iter iter = { .count = nondet_size() };

	__CPROVER_assume(iter.count <= MAX_WRITTEN);
	device_write_iter(&iocb, &iter);
	__CPROVER_assert(!orders, "a write earns no credit");
	REACHED(mixed_bytes == MAX_WRITTEN, "all was mixed");
}

int main(void)
{
	is_operator = nondet_bool();
	OPERATION();
	return 0;
}
