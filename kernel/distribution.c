// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which nodes get which seeds.
 *
 * Every reseed reseeds node 0, the root, exactly as Fortuna says. Until the root has had a
 * seed of WS_READY_BITS it is the only node in use. Then each other node is initialised
 * from it. From then on every reseed also gives a seed to one other node: every second
 * one to the node whose turn it is, and those in between first to nodes with less than
 * 75 % of WS_CAPACITY_BITS. These are the rules of the per-node pools that were once
 * proposed for Linux, but for the turns: readers use up the credit of their node, and
 * would keep all seeds for it. An order reseeds all nodes.
 *
 * A node takes its seed at once, whether or not it is read: what memory once held says
 * nothing about its output after its next turn.
 *
 * Another thing is different. Reseed number r uses pool i if 2^i divides r. A node that
 * gets the seeds of every second reseed, for example, would never see any pool but 0, and
 * an attacker who knows pool 0 would always know that node. So a node's seed is taken
 * from a hash chain over all seeds: a seed that recovers the root recovers every node
 * when its turn comes.
 */
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "distribution.h"
#include "generation.h"
#include "hash.h"
#include "nodes.h"
#include "phase.h"

static const char node_domain[] = "wellspring node seed";

/* The pools' lock is held for these. */
static u8 chain[SHA256_DIGEST_SIZE];
static bool has_given;		/* a seed has left the pools */
static bool by_credit;		/* the next seed: first to nodes low on credit */
static unsigned int last_in_turn, last_by_credit;

static u64 root_credited_bits(void)
{
	u64 credited_bits;

	rcu_read_lock();
	credited_bits = ws_node_credited_bits(ws_nodes_root());
	rcu_read_unlock();
	return credited_bits;
}

/* The early seed has less, and no other seed with less comes after it: see below. */
bool ws_distribution_is_ready(void)
{
	return root_credited_bits() >= WS_READY_BITS;
}

/*
 * Premature next (Dodis and others, How to Eat Your Entropy and Have it Too, 2014): who
 * reads after each of 16 seeds of 8 bits guesses each of them, though they are 128 bits
 * together.
 */
bool ws_distribution_accepts(u32 credit_bits)
{
	return credit_bits >= WS_READY_BITS || (credit_bits && !has_given) ||
	       ws_distribution_is_ready();
}

int ws_distribution_initialise(struct ws_node *node)
{
	struct ws_reservation reservation;
	u8 seed[SHA256_DIGEST_SIZE];
	int error;

	if (!ws_distribution_is_ready())
		return -EAGAIN;
	error = ws_nodes_reserve(true, sizeof(seed), &reservation);
	if (error)
		return error;
	ws_reservation_generate(&reservation, seed, sizeof(seed));
	ws_hash_for_node(seed, "wellspring node first seed", node->number, seed,
			 sizeof(seed));
	ws_node_reseed(node, seed, sizeof(seed),
		       min_t(u64, root_credited_bits(), 8 * sizeof(seed)));
	memzero_explicit(seed, sizeof(seed));
	return 0;
}

bool ws_distribution_has_room(void)
{
	bool has_room;

	rcu_read_lock();
	has_room = ws_node_has_room(ws_nodes_root());
	rcu_read_unlock();
	return has_room;
}

/* One way: the chain does not reveal its earlier values. */
static void extend_chain(const struct ws_seed *seed)
{
	static const char domain[] = "wellspring seed chain";

	ws_sha_d256(chain, domain, strlen(domain), chain, sizeof(chain),
		    seed->data, seed->bytes);
	has_given = true;
}

static u32 chain_credit_bits(const struct ws_seed *seed)
{
	return min_t(u32, seed->credit_bits, 8 * sizeof(chain));
}

static bool feed_node(struct ws_node *node, u32 credit_bits)
{
	u8 seed[SHA256_DIGEST_SIZE];
	bool fed;

	ws_hash_for_node(seed, node_domain, node->number, chain, sizeof(chain));
	fed = ws_node_feed(node, seed, sizeof(seed), credit_bits);
	memzero_explicit(seed, sizeof(seed));
	return fed;
}

/*
 * Feeds the first node after @last that is there, or that is @low on credit. A node whose
 * first reader in a long time holds the lock just now is passed over: that reader takes
 * the last seed.
 */
static bool feed_next(unsigned int *last, bool low, u32 credit_bits)
{
	unsigned int others = ws_nodes_count() - 1, step;

	for (step = 0; step < others; step++) {
		unsigned int number = 1 + (*last + step) % others;
		struct ws_node *node = ws_nodes_get(number);

		if (!node || (low && !ws_node_is_served_first(node)) ||
		    !feed_node(node, credit_bits))
			continue;
		*last = number;
		return true;
	}
	return false;
}

void ws_distribution_deliver(const struct ws_seed *seed)
{
	u32 credit_bits = chain_credit_bits(seed);

	extend_chain(seed);
	rcu_read_lock();
	ws_node_feed(ws_nodes_root(), seed->data, seed->bytes, seed->credit_bits);
	if (ws_phase() == WS_READY) {
		if (!by_credit || !feed_next(&last_by_credit, true, credit_bits))
			feed_next(&last_in_turn, false, credit_bits);
		by_credit = !by_credit;
	}
	rcu_read_unlock();
	ws_generation_bump();
}

void ws_distribution_order(const struct ws_seed *seed)
{
	extend_chain(seed);
	ws_nodes_reseed(0, seed->data, seed->bytes, seed->credit_bits);
	ws_nodes_stir(node_domain, 1, chain, sizeof(chain), chain_credit_bits(seed));
}

void ws_distribution_exit(void)
{
	memzero_explicit(chain, sizeof(chain));
}
