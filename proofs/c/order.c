// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * P4: an order reaches every node before the generation moves, while a CPU's node comes.
 *
 * The order's seed, and all that is made of it, is SECRET here: so what is followed is whether a key depends on
 * it. Behind each statement of the order another CPU may do the next part of add_node(), which order.edits cuts
 * where it touches what both see: before the node is published, behind that, behind the look at the root, and
 * behind the draw on the root. Any of the numbers has a node or none, and any node a seed in its mailbox.
 *
 * Claim: when the generation moves, and at any time after it, no node that can be read has a key that does not
 * depend on the order's seed.
 */
#include "linux.h"

static s64 generation_moves(void);
#undef atomic64_inc_return
#define atomic64_inc_return(v) generation_moves()
#include "internal.h"

#undef memcpy
#define memcpy(to, from, len) ((void)(*(u8 *)(to) = *(const u8 *)(from)))
#undef memzero_explicit
#define memzero_explicit(memory, size) ((void)(memory))

#define NODES 3
enum { UNKNOWN, SECRET };

int preemption_off;
enum ws_cipher ws_cipher;
static void other_cpu(void);
static unsigned int part;	/* of add_node(), that comes next */

#include "node.c"
#include "topology.c"

/* Objects of their own: CBMC takes a pointer into an array byte by byte. */
static struct ws_node node_0, node_1, node_2, node_that_comes;
static bool is_ordered;		/* the generation has moved */
static bool is_inside;

void ws_generator_init(struct ws_generator *generator, enum ws_cipher cipher)
{
	generator->counter.low = 0;
	generator->key[0] = UNKNOWN;
}

/* A hash over the old key, if there is one, and the seed. */
void ws_generator_reseed(struct ws_generator *generator, const void *seed, size_t len)
{
	if (!generator->counter.low)
		generator->key[0] = UNKNOWN;
	if (*(const u8 *)seed == SECRET)
		generator->key[0] = SECRET;
	generator->counter.low = 1;
}

void ws_generator_reserve(struct ws_generator *generator, size_t len,
			  struct ws_reservation *reservation)
{
	reservation->keystream.chacha_key[0] = generator->key[0];
}

void ws_reservation_generate(struct ws_reservation *reservation, void *buf, size_t len)
{
	*(u8 *)buf = reservation->keystream.chacha_key[0];
}

void ws_sha_d256(u8 *digest, const void *first, size_t first_bytes, const void *second,
		 size_t second_bytes, const void *third, size_t third_bytes)
{
	digest[0] = *(const u8 *)second == SECRET || *(const u8 *)third == SECRET ? SECRET : UNKNOWN;
}

void ws_hash_for_node(u8 *digest, const char *domain, unsigned int number, const void *secret,
		      size_t len)
{
	digest[0] = *(const u8 *)secret;
}

ktime_t ktime_get(void)
{
	return 0;
}

void ws_mix(const void *data, size_t len)
{
}

void ws_taps_wipe(int cpu)
{
}

void *ws_alloc(size_t size)
{
	return NULL;
}

void *ws_alloc_on_node(size_t size, int numa_node)
{
	return &node_that_comes;
}

void ws_free(void *memory, size_t size)
{
}

void ws_free_on_node(void *memory, size_t size)
{
}

static bool all_depend(void)
{
	unsigned int number;

	for (number = 0; number < nodes_count; number++)
		if (nodes[number] && is_seeded(nodes[number]) &&
		    nodes[number]->generator.key[0] != SECRET)
			return false;
	return true;
}

static s64 generation_moves(void)
{
	__CPROVER_assert(all_depend(), "an order has reached every node when the generation moves");
	is_ordered = true;
	return 1;
}

/* The next part of add_node(), or nothing. */
static void other_cpu(void)
{
	if (is_inside)
		return;
	is_inside = true;
	if (part < 4 && nondet_bool()) {
		add_node(0, 0);
		__CPROVER_assert(!is_ordered || all_depend(), "nor has a node that comes then an older key");
	}
	is_inside = false;
}

static void any_node(struct ws_node *node, unsigned int number)
{
	node->number = number;
	node->generator.counter.low = nondet_bool();
	node->credited_bits = nondet_byte();
	node->credit_bits = nondet_byte();
	node->mailbox.full = nondet_bool();
	node->mailbox.seed.bytes = 32;
	node->mailbox.seed.credit_bits = nondet_byte();
	if (number < nodes_count && (!number || nondet_bool()))
		nodes[number] = node;
}

int main(void)
{
	struct ws_seed seed = { .bytes = 32, .data = { SECRET } };

	nodes_count = 1 + nondet_byte() % NODES;
	any_node(&node_0, 0);
	any_node(&node_1, 1);
	any_node(&node_2, 2);
	current_phase.counter = WS_READY;
	seed.credit_bits = nondet_byte();
	__CPROVER_assume(node_0.generator.counter.low && node_0.credited_bits >= READY_BITS);

	other_cpu();
	other_cpu();
	other_cpu();
	ws_distribution_order(&seed);
	__CPROVER_assert(is_ordered, "an order moves the generation");
	other_cpu();
	other_cpu();
	other_cpu();
	other_cpu();
	REACHED(part == 4 && nodes_count == NODES + 1, "a node that is new at the end of the table");
	REACHED(part == 4 && node_that_comes.number == 1, "a node in a place that was free");
	REACHED(part == 2, "a node that does not draw on the root before the end");
	return 0;
}
