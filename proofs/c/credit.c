// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * P7, the pools: credit is what was given, or less. One operation of any kind on pools in any valid state, so
 * what holds behind it holds behind any number of them: no sequence of events, writes and orders has more credit
 * in the pools and in seeds than sources and operators gave. The hash is not looked at. OPERATION is one of
 * absorb(), mix() and take_seed().
 */
#include "linux.h"
#include "internal.h"
#include "fortuna.c"

int preemption_off;
static struct ws_accumulator accumulator;
static struct ws_seed seed;

void sha256_init(struct sha256_ctx *hash)
{
}

void sha256_update(struct sha256_ctx *hash, const u8 *data, size_t len)
{
}

void sha256_final(struct sha256_ctx *hash, u8 *digest)
{
	__CPROVER_assert(digest >= seed.data && digest + SHA256_DIGEST_SIZE <= seed.data + WS_SEED_BYTES,
			 "a digest is within the seed");
}

void sha256(const u8 *data, size_t len, u8 *digest)
{
}

bool ws_simd_guard(struct ws_simd *simd)
{
	return nondet_bool();
}

void ws_simd_wipe_and_release(struct ws_simd *simd)
{
}

void ws_wipe_stack(void)
{
}

/* What a pool had before, and any one of the pools, which stands for all. */
static u32 had[WS_POOLS];
static unsigned int witness;

static u64 gain(void)
{
	return accumulator.pools[witness].credit_bits - had[witness];
}

static void absorb(void)
{
	unsigned int pool = nondet_u32();
	struct ws_event event;

	event.credit_bits = nondet_u32();
	event.bytes = nondet_byte();
	ws_accumulator_absorb(&accumulator, &event, pool);
	__CPROVER_assert(accumulator.pools[witness].credit_bits <=
			 had[witness] + (witness == pool % WS_POOLS ? event.credit_bits : 0),
			 "an event brings its credit, to one pool");
	REACHED(gain() == POOL_CREDIT_BITS, "credit that fills a pool");
}

static void mix(void)
{
	u32 bytes = accumulator.pools[0].bytes, credit_bits = nondet_u32();

	ws_accumulator_mix(&accumulator, &bytes, sizeof(bytes), credit_bits);
	__CPROVER_assert(accumulator.pools[witness].credit_bits <=
			 had[witness] + (witness == 0 ? (u64)credit_bits : 0),
			 "what is mixed brings its credit, to pool 0");
	__CPROVER_assert(accumulator.pools[0].bytes == bytes, "and makes no reseed due");
}

static void take_seed(void)
{
	u32 bytes = accumulator.pools[0].bytes, sum = 0;
	u32 foretold = ws_accumulator_next_credit_bits(&accumulator);
	bool is_taken = ws_accumulator_take_seed(&accumulator, nondet_u64(), nondet_bool(), &seed);
	unsigned int used = pools_used(accumulator.reseeds), i;

	REACHED(!is_taken && bytes >= WS_MIN_POOL_BYTES, "too early");
	if (!is_taken) {
		__CPROVER_assert(gain() == 0, "without a seed nothing changes");
		return;
	}
	for (i = 0; i < WS_POOLS; i++)
		if (i < used)
			sum += had[i];
	__CPROVER_assert(bytes >= WS_MIN_POOL_BYTES, "64 bytes in pool 0 first");
	__CPROVER_assert(seed.credit_bits == sum, "a seed has the credit of its pools");
	__CPROVER_assert(seed.credit_bits == foretold, "and as much as was foretold");
	__CPROVER_assert(seed.bytes == used * SHA256_DIGEST_SIZE && used <= WS_POOLS, "a seed fits");
	__CPROVER_assert(!(accumulator.reseeds & 1) || used == 1, "an odd reseed uses pool 0 alone");
	__CPROVER_assert(accumulator.pools[witness].credit_bits ==
			 (witness < used ? 0 : had[witness]),
			 "its pools have none then, and the others what they had");
	REACHED(seed.bytes == WS_SEED_BYTES, "all pools");
	REACHED(seed.credit_bits >= 128, "enough for ready");
}

int main(void)
{
	unsigned int i;

	accumulator.reseeds = nondet_u32();
	accumulator.reseeded = nondet_bool();
	accumulator.reseeded_ms = nondet_u64();
	for (i = 0; i < WS_POOLS; i++) {
		had[i] = nondet_u32();
		__CPROVER_assume(had[i] <= POOL_CREDIT_BITS);
		accumulator.pools[i].bytes = nondet_u32();
		accumulator.pools[i].credit_bits = had[i];
	}
	witness = nondet_u32();
	__CPROVER_assume(witness < WS_POOLS);
	OPERATION();
	__CPROVER_assert(accumulator.pools[witness].credit_bits <= POOL_CREDIT_BITS,
			 "no pool has more than a digest can");
	return 0;
}
