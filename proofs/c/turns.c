// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * P6: which of NODES nodes gets which seed. A node low on credit is served out of its turn; which nodes are low,
 * readers decide: any at any look. A node that a reader keeps busy is left out.
 *
 * Claim: from any state of the turns, each node but 0, which has every seed, has a new one after
 * 2 (NODES - 1) reseeds. main() proves of one reseed by the code that it is a step(), and then of any
 * 2 (NODES - 1) steps that they serve all.
 */
#include "linux.h"
#include "internal.h"

#undef memzero_explicit
#define memzero_explicit(memory, size) ((void)(memory))

#include "topology.c"

enum ws_cipher ws_cipher;
DEFINE_MUTEX(ws_nodes_lock);
static struct ws_node root, other;
static unsigned int found;	/* the number of the other node that was looked for last */
static unsigned int root_seeds, other_seeds, served, bumps;

struct turns {
	bool by_credit;
	unsigned int last_in_turn;
};

/* Whether a reseed that serves node @number may turn @before into @after. */
static bool step(struct turns before, unsigned int number, struct turns after)
{
	unsigned int next = before.last_in_turn < NODES - 1 ? before.last_in_turn + 1 : 1;
	bool in_turn = number == next && after.last_in_turn == next;
	bool out_of_turn = before.by_credit && after.last_in_turn == before.last_in_turn;

	return number > 0 && number < NODES && after.by_credit == !before.by_credit &&
	       (in_turn || out_of_turn);
}

unsigned int ws_nodes_count(void)
{
	return NODES;
}

struct ws_node *ws_nodes_root(void)
{
	return &root;
}

struct ws_node *ws_nodes_get(unsigned int number)
{
	__CPROVER_assert(number > 0 && number < NODES, "a node's number is in the table");
	found = number;
	return &other;
}

bool ws_node_is_served_first(const struct ws_node *node)
{
	return nondet_bool();
}

bool ws_node_feed(struct ws_node *node, const void *seed, size_t len, u32 credit_bits)
{
	if (node == &root) {
		root_seeds++;
	} else {
		other_seeds++;
		served = found;
	}
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
	struct turns before, after;
	unsigned int reseeds, number, mask = 1;

	by_credit = nondet_bool();
	last_in_turn = nondet_u32();
	last_by_credit = nondet_u32();
	__CPROVER_assume(last_in_turn < NODES && last_by_credit < NODES);
	before = (struct turns) { by_credit, last_in_turn };
	ws_distribution_deliver(&seed);
	after = (struct turns) { by_credit, last_in_turn };
	__CPROVER_assert(root_seeds == 1 && other_seeds == 1, "a reseed gives the root a seed, and one other");
	__CPROVER_assert(step(before, served, after), "a node is served in its turn, or every second time by credit");
	__CPROVER_assert(last_in_turn < NODES && last_by_credit < NODES, "the turns are in the table");
	__CPROVER_assert(bumps == 1, "a reseed moves the generation");
	REACHED(before.by_credit && after.last_in_turn == before.last_in_turn, "a node is served by credit");
	REACHED(before.by_credit && after.last_in_turn != before.last_in_turn, "no node is low");

	for (reseeds = 0; reseeds < 2 * (NODES - 1); reseeds++) {
		before = after;
		after.by_credit = nondet_bool();
		after.last_in_turn = nondet_u32();
		number = nondet_u32();
		__CPROVER_assume(step(before, number, after));
		mask |= 1U << number;
	}
	__CPROVER_assert(mask == (1U << NODES) - 1, "each node has a new seed");
	return 0;
}
