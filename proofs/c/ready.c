// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * P7, the nodes and the phase: one reseed or order, in any valid state. Ready needs one seed of 128 bits: all
 * smaller ones but the first are kept back, and that one never makes ready. A seed's credit reaches the root
 * once, and no node has more than its capacity.
 */
#include "linux.h"
#include "internal.h"

/* The bytes of a seed do not matter here. */
#undef memzero_explicit
#define memzero_explicit(memory, size) ((void)(memory))
#define memcpy(to, from, len) ((void)(to), (void)(from))

#include "node.c"
#include "topology.c"

#define NODES 2

int preemption_off;
enum ws_cipher ws_cipher;
static struct ws_node memory[NODES];

void ws_generator_init(struct ws_generator *generator, enum ws_cipher cipher)
{
}

void ws_generator_reseed(struct ws_generator *generator, const void *seed, size_t len)
{
	generator->counter.low = 1;
}

void ws_generator_reserve(struct ws_generator *generator, size_t len,
			  struct ws_reservation *reservation)
{
}

void ws_reservation_generate(struct ws_reservation *reservation, void *buf, size_t len)
{
}

void ws_sha_d256(u8 *digest, const void *first, size_t first_bytes, const void *second,
		 size_t second_bytes, const void *third, size_t third_bytes)
{
}

void ws_hash_for_node(u8 *digest, const char *domain, unsigned int number, const void *secret,
		      size_t len)
{
}

ktime_t ktime_get(void)
{
	return nondet_u64();
}

void ws_mix(const void *data, size_t len)
{
}

void ws_taps_wipe(unsigned int cpu)
{
}

void *ws_alloc(size_t size)
{
	return NULL;
}

void *ws_alloc_on_node(size_t size, int numa_node)
{
	return NULL;
}

void ws_free(void *memory, size_t size)
{
}

void ws_free_on_node(void *memory, size_t size)
{
}

static struct ws_seed seed = { .bytes = 32 };
static bool is_big;	/* a seed of 128 bits was given */

/* A state that holds before each step: of node 0 and what is on its way to it. */
static u64 root_bits(void)
{
	return memory[0].credited_bits + (memory[0].mailbox.full ? memory[0].mailbox.seed.credit_bits : 0);
}

static bool holds(void)
{
	unsigned int number;

	for (number = 0; number < NODES; number++)
		if (memory[number].credit_bits > WS_CAPACITY_BITS)
			return false;
	if (!has_given && root_bits())
		return false;
	if (!is_big && (root_bits() >= READY_BITS || ws_phase() == WS_READY))
		return false;
	return true;
}

/* Any number of reads between two reseeds, by which nodes get low on credit or do not. */
static void read(void)
{
	struct ws_reservation reservation;
	unsigned int number;

	for (number = 0; number < NODES; number++)
		if (nondet_bool())
			ws_node_reserve(&memory[number], nondet_size(), &reservation);
}

/* A seed may leave the pools: by the harvester, or by an order. */
static void give(void)
{
	u64 before = root_bits();

	seed.credit_bits = nondet_u32();
	__CPROVER_assume(seed.credit_bits <= WS_POOLS * 8 * SHA256_DIGEST_SIZE);
	read();
	if (ws_distribution_accepts(seed.credit_bits)) {
		is_big |= seed.credit_bits >= 128;
		if (nondet_bool())
			ws_distribution_deliver(&seed);
		else
			ws_distribution_order(&seed);
		__CPROVER_assert(root_bits() <= before + seed.credit_bits,
				 "the root has its credit, once");
	} else {
		REACHED(seed.credit_bits > 0, "a small seed is kept back");
		__CPROVER_assert(seed.credit_bits < 128, "no large one is");
	}
	ws_topology_grow();
	__CPROVER_assert(ws_phase() != WS_READY || is_big, "ready after one seed of 128 bits");
	REACHED(ws_phase() == WS_EARLY && has_given, "early");
	REACHED(ws_phase() == WS_READY && !memory[1].credit_bits, "ready");
}

int main(void)
{
	unsigned int number;

	for (number = 0; number < NODES; number++) {
		memory[number].number = number;
		memory[number].credited_bits = nondet_u32();
		memory[number].credit_bits = nondet_u32();
		memory[number].generator.counter.low = nondet_bool();
		nodes[number] = &memory[number];
	}
	nodes_count = NODES;
	memory[0].mailbox.full = nondet_bool();
	memory[0].mailbox.seed.bytes = 32;
	memory[0].mailbox.seed.credit_bits = nondet_u32();
	current_phase.counter = nondet_int();
	__CPROVER_assume(current_phase.counter >= WS_EMPTY && current_phase.counter <= WS_READY);
	has_given = nondet_bool();
	by_credit = nondet_bool();
	is_big = nondet_bool();
	last_in_turn = nondet_u32();
	last_by_credit = nondet_u32();
	__CPROVER_assume(last_in_turn < NODES && last_by_credit < NODES);
	__CPROVER_assume(holds());
	give();
	__CPROVER_assert(holds(), "so it holds behind any number of steps");
	return 0;
}
