// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which nodes get which seeds.
 *
 * Every reseed reseeds node 0, the root, exactly as Fortuna says. Until the root has
 * been credited WS_READY_BITS it is the only node in use. Then each other node is
 * initialised from it. From then on every reseed also gives a seed to one other node:
 * round robin, but first to nodes with less than 75 % of WS_CAPACITY_BITS. These are
 * the rules of the per-node pools that were once proposed for Linux.
 *
 * One thing is different. Reseed number r uses pool i if 2^i divides r. A node that gets
 * the seeds of every second reseed, for example, would never see any pool but 0, and
 * an attacker who knows pool 0 would always know that node. So a node's seed is taken
 * from a hash chain over all seeds: a seed that recovers the root recovers every node
 * when its turn comes.
 */
#include <asm/byteorder.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "distribution.h"
#include "generation.h"
#include "hash.h"
#include "nodes.h"
#include "phase.h"

/* The pools' lock is held for both. */
static u8 chain[SHA256_DIGEST_SIZE];
static unsigned int last_number;

/* Posts SHAd-256 of a domain, the node's number and 32 secret bytes. */
static bool post_separated(struct ws_node *node, const char *domain,
			   const u8 *secret, u64 credit_bits)
{
	__le64 number = cpu_to_le64(node->number);
	u8 seed[SHA256_DIGEST_SIZE];
	bool posted;

	ws_sha_d256(seed, domain, strlen(domain), &number, sizeof(number),
		    secret, SHA256_DIGEST_SIZE);
	posted = ws_node_post(node, seed, sizeof(seed),
			      min_t(u64, credit_bits, 8 * sizeof(seed)));
	memzero_explicit(seed, sizeof(seed));
	return posted;
}

static u64 root_credited_bits(void)
{
	u64 credited_bits;

	rcu_read_lock();
	credited_bits = ws_node_credited_bits(ws_nodes_root());
	rcu_read_unlock();
	return credited_bits;
}

bool ws_distribution_is_ready(void)
{
	return root_credited_bits() >= WS_READY_BITS;
}

int ws_distribution_initialise(struct ws_node *node)
{
	struct ws_reservation reservation;
	u8 drawn[WS_KEY_BYTES];
	int error;

	if (!ws_distribution_is_ready())
		return -EAGAIN;
	error = ws_nodes_reserve(true, sizeof(drawn), &reservation);
	if (error)
		return error;
	ws_reservation_generate(&reservation, drawn, sizeof(drawn));
	post_separated(node, "wellspring node first seed", drawn,
		       root_credited_bits());
	memzero_explicit(drawn, sizeof(drawn));
	return 0;
}

/*
 * The next node, after the last one served, whose credit is below 75 %. If there is
 * none, the next node. A node with a full mailbox has not used its last seed, and is
 * passed over.
 */
static struct ws_node *choose_node(unsigned int count)
{
	struct ws_node *next = NULL;
	unsigned int step;

	for (step = 0; step < count - 1; step++) {
		unsigned int number = 1 + (last_number + step) % (count - 1);
		struct ws_node *node = ws_nodes_get(number);

		if (!node || !ws_node_has_room(node))
			continue;
		if (ws_node_is_served_first(node))
			return node;
		if (!next)
			next = node;
	}
	return next;
}

bool ws_distribution_make_room(bool may_wait)
{
	struct ws_node *root;
	bool has_room;

	rcu_read_lock();
	root = ws_nodes_root();
	ws_node_receive(root, may_wait);
	has_room = ws_node_has_room(root);
	rcu_read_unlock();
	return has_room;
}

void ws_distribution_deliver(const struct ws_seed *seed)
{
	static const char domain[] = "wellspring seed chain";
	unsigned int count = ws_nodes_count();
	struct ws_node *node = NULL;

	/* One way: the chain does not reveal its earlier values. */
	ws_sha_d256(chain, domain, strlen(domain), chain, sizeof(chain),
		    seed->data, seed->bytes);
	rcu_read_lock();
	ws_node_post(ws_nodes_root(), seed->data, seed->bytes, seed->credit_bits);
	if (count > 1 && ws_phase() == WS_READY)
		node = choose_node(count);
	if (node) {
		last_number = node->number;
		post_separated(node, "wellspring node seed", chain,
			       seed->credit_bits);
	}
	rcu_read_unlock();
	ws_generation_bump();
}

void ws_distribution_exit(void)
{
	memzero_explicit(chain, sizeof(chain));
}
