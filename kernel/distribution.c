// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How seeds are shared out, and when which nodes exist.
 *
 * Every reseed reseeds node 0, the root, exactly as Fortuna says. Until that has been
 * credited WS_READY_BITS it is the only node there is. Then each other node is
 * initialised from it, and from then on every reseed also hands a seed to one other
 * node: round robin, first to those whose credit is below three quarters of
 * WS_CAPACITY_BITS. The rules are those of the per-node pools once proposed for
 * Linux.
 *
 * One thing they would break here. Reseed number r uses pool i when 2^i divides r, so
 * a node that is served by every second reseed, say, and gets just that reseed's
 * seed, would never see any pool but 0: an attacker who follows pool 0 would own it
 * for good. A node's seed is therefore taken from a chain over all seeds so far, so
 * that what recovers the root recovers every node within one round.
 */
#include <asm/byteorder.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "internal.h"

DECLARE_WAIT_QUEUE_HEAD(ws_seeded_wait);
static enum ws_phase phase = WS_EMPTY;

/* The pools' lock is held for both. */
static u8 chain[SHA256_DIGEST_SIZE];
static unsigned int last_number;

enum ws_phase ws_phase(void)
{
	return smp_load_acquire(&phase);
}
WS_EXPORT_FOR_TEST(ws_phase);

/* A reader of the root finds Early, under its lock; whoever grows the nodes says Ready. */
void ws_phase_set(enum ws_phase next)
{
	if (READ_ONCE(phase) < next)
		smp_store_release(&phase, next);
}

void ws_phase_announce(void)
{
	static enum ws_phase announced = WS_EMPTY;

	if (announced == ws_phase())
		return;
	announced = ws_phase();
	wake_up_all(&ws_seeded_wait);
}

/* SHAd-256 of a domain, a node's number and 32 secret bytes: a seed for it alone. */
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

int ws_node_initialise(struct ws_node *node)
{
	u64 credited_bits = ws_root_credited_bits();
	struct ws_claim claim;
	u8 drawn[WS_KEY_BYTES];
	int error;

	if (credited_bits < WS_READY_BITS)
		return -EAGAIN;
	error = ws_node_claim(true, sizeof(drawn), &claim);
	if (error)
		return error;
	ws_claim_generate(&claim, drawn, sizeof(drawn));
	post_separated(node, "wellspring node first seed", drawn, credited_bits);
	memzero_explicit(drawn, sizeof(drawn));
	return 0;
}

/*
 * The next node after the last one served whose credit is below 75 %; the next at all
 * if none is. A node whose mailbox is full has not used what it was given, and is
 * passed over.
 */
static struct ws_node *choose(unsigned int numbers)
{
	struct ws_node *next = NULL;
	unsigned int step;

	for (step = 0; step < numbers - 1; step++) {
		unsigned int number = 1 + (last_number + step) % (numbers - 1);
		struct ws_node *node = ws_node_numbered(number);

		if (!node || !ws_node_has_room(node))
			continue;
		if (ws_node_is_hungry(node))
			return node;
		if (!next)
			next = node;
	}
	return next;
}

void ws_distribution_deliver(const struct ws_seed *seed)
{
	static const char domain[] = "wellspring seed chain";
	unsigned int numbers = ws_node_numbers();
	struct ws_node *node = NULL;

	/* One way: the chain tells nothing of what it was before. */
	ws_sha_d256(chain, domain, strlen(domain), chain, sizeof(chain),
		    seed->data, seed->bytes);
	rcu_read_lock();
	ws_node_post(ws_node_root(), seed->data, seed->bytes, seed->credit_bits);
	if (numbers > 1 && ws_phase() == WS_READY)
		node = choose(numbers);
	if (node) {
		last_number = node->number;
		post_separated(node, "wellspring node seed", chain,
			       seed->credit_bits);
	}
	rcu_read_unlock();
	ws_generation_bump();
}

void ws_distribution_wipe(void)
{
	memzero_explicit(chain, sizeof(chain));
}
