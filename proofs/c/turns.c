// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * P6: which of NODES nodes gets which seed. A node low on credit is served out of its turn; which nodes are low,
 * readers decide: any at any look. A node that a reader keeps busy is left out.
 *
 * Claim: from any state of the turns, each node but 0, which has every seed, has a new one after
 * 2 (NODES - 1) reseeds.
 */
#include "linux.h"
#include "internal.h"

#undef memzero_explicit
#define memzero_explicit(memory, size) ((void)(memory))

#include "topology.c"

enum ws_cipher ws_cipher;
DEFINE_MUTEX(ws_nodes_lock);
static struct ws_node nodes[NODES];
static unsigned int seeds[NODES], bumps;

unsigned int ws_nodes_count(void)
{
	return NODES;
}

struct ws_node *ws_nodes_root(void)
{
	return &nodes[0];
}

struct ws_node *ws_nodes_get(unsigned int number)
{
	__CPROVER_assert(number < NODES, "a node's number is in the table");
	return &nodes[number];
}

bool ws_node_is_served_first(const struct ws_node *node)
{
	return nondet_bool();
}

bool ws_node_feed(struct ws_node *node, const void *seed, size_t len, u32 credit_bits)
{
	seeds[node - nodes]++;
	return true;
}

u64 ws_node_credited_bits(const struct ws_node *node)
{
	return READY_BITS;
}

enum ws_phase ws_phase(void)
{
	return WS_READY;
}

u64 ws_generation_bump(void)
{
	return ++bumps;
}

void ws_sha_d256(u8 *digest, const void *first, size_t first_bytes, const void *second,
		 size_t second_bytes, const void *third, size_t third_bytes)
{
}

void ws_hash_for_node(u8 *digest, const char *domain, unsigned int number, const void *secret,
		      size_t len)
{
}

int main(void)
{
	struct ws_seed seed = { .bytes = 32 };
	unsigned int step, number, others = 0;

	by_credit = nondet_bool();
	last_in_turn = nondet_u32();
	last_by_credit = nondet_u32();
	__CPROVER_assume(last_in_turn < NODES && last_by_credit < NODES);
	for (step = 0; step < 2 * (NODES - 1); step++)
		ws_distribution_deliver(&seed);

	__CPROVER_assert(seeds[0] == 2 * (NODES - 1), "the root has every seed");
	for (number = 1; number < NODES; number++) {
		__CPROVER_assert(seeds[number] > 0, "each node has a new seed");
		others += seeds[number];
	}
	__CPROVER_assert(others == seeds[0], "and each reseed gives one other node a seed");
	__CPROVER_assert(bumps == seeds[0], "each reseed moves the generation");
	REACHED(seeds[1] == NODES, "a node with all seeds by credit, and its turn");
	return 0;
}
