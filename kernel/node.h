/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A generator per NUMA node, and how seeds are shared out among them.
 */
#ifndef WELLSPRING_NODE_H
#define WELLSPRING_NODE_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/ktime.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "generator.h"
#include "pool.h"

/* The credit that node 0 must have received before any other node exists. */
#define WS_READY_BITS 128
/* The credit of a full node: the capacity of Linux's nonblocking pool. */
#define WS_CAPACITY_BITS 1024
/* Below this credit a node is served before others: 75 % of its capacity. */
#define WS_HUNGRY_BITS (WS_CAPACITY_BITS / 4 * 3)
/* Node numbers are below this; machines with more NUMA nodes share the first ones. */
#define WS_MAX_NODES 64

/* Empty: nobody may read. Early: node 0 alone. Ready: every node. */
enum ws_phase {
	WS_EMPTY,
	WS_EARLY,
	WS_READY,
};

/*
 * How a seed reaches a node without anyone waiting. It holds one; while it is full,
 * what the pools have gathered stays there, where it is safest.
 */
struct ws_mailbox {
	bool full;
	struct ws_seed seed;
};

/*
 * A generator in its own NUMA node's memory, behind its own lock. The readers' lines
 * and the harvest thread's are different ones.
 */
struct ws_node {
	raw_spinlock_t lock;
	unsigned int number;	/* 0 is the root */
	int numa_node;
	struct ws_generator generator;
	u64 credited_bits;
	u64 reseeds;
	u64 reseeded_ms;
	u64 claims;
	u64 contended;
	u64 lock_wait_ns;

	struct ws_mailbox mailbox ____cacheline_aligned_in_smp;
	/* Left of what the seeds brought; says whose turn the next one is. */
	atomic_t credit_bits;
} ____cacheline_aligned_in_smp;

struct ws_node_statistics {
	int numa_node;
	u64 claims;		/* times the lock was taken for output */
	u64 contended;		/* of these, how often it was not free */
	u64 lock_wait_ns;	/* the time waited for it, in all */
	u64 reseeds;		/* seeds received */
	u64 reseed_age_ms;	/* since the last; U64_MAX if there was none */
	u64 credited_bits;	/* received, in all */
	u32 credit_bits;	/* left: whose turn the next seed is */
	bool mailbox_full;
};

/* The generation that no tap's parent ever has. */
#define WS_NEVER 0

/* Woken when the phase changes; test ws_phase() != WS_EMPTY. */
extern wait_queue_head_t ws_seeded_wait;

enum ws_phase ws_phase(void);

/* The number that ties every tap to its node. Any context. */
u64 ws_generation(void);
/* Moves on, after what it announces was posted. Any context. Returns the new one. */
u64 ws_generation_bump(void);

/* Node numbers that were ever in use: 0 .. ws_node_numbers() - 1; some may be gone. */
unsigned int ws_node_numbers(void);
/* False if there is no such node now. Any context but NMI. */
bool ws_node_statistics(unsigned int number,
			struct ws_node_statistics *statistics);

/*
 * A claim of @bytes on the node that serves this CPU (or, @root, on node 0).
 * Any context but NMI. 0, or -EAGAIN before the first seed.
 */
int ws_node_claim(bool root, size_t bytes, struct ws_claim *claim);
/* A chunk made under the root's lock: the bytes made, or -EAGAIN. */
ssize_t ws_node_read_chunk(void *destination, size_t bytes);

/*
 * Seed save and restore. Any context but NMI. 0; -EAGAIN before the node is seeded
 * (save); -ENODATA if this number has no generator; -ENXIO past the last number.
 *
 * A restored seed goes straight into the generator; the caller then bumps the
 * generation.
 */
int ws_node_save(unsigned int number, void *seed, size_t bytes);
int ws_node_restore(unsigned int number, const void *seed, size_t bytes,
		    u32 credit_bits);
/*
 * Hashes @data into every node, each with its number, and bumps the generation: for
 * a clone notice or a resume. Any context but NMI.
 */
void ws_nodes_stir(const void *data, size_t bytes);

static inline u64 ws_now_ms(void)
{
	return ktime_to_ms(ktime_get());
}

/* Below: for node.c, distribution.c and topology.c, and for the harvest side. */

void ws_node_prepare(struct ws_node *node, unsigned int number, int numa_node);
/*
 * Puts a seed in, unless one is there: one caller at a time, the owner of the pools
 * or whoever makes the node. Says whether it went in.
 */
bool ws_node_post(struct ws_node *node, const void *seed, size_t bytes,
		  u32 credit_bits);
bool ws_node_is_hungry(const struct ws_node *node);
bool ws_node_has_room(const struct ws_node *node);
/* A claim on one node. Any context but NMI. */
int ws_node_claim_on(struct ws_node *node, size_t bytes,
		     struct ws_claim *claim);
/* The credit that the root received, in all. */
u64 ws_root_credited_bits(void);

/* Under rcu_read_lock(): the root; the node of this CPU; a node or NULL. */
struct ws_node *ws_node_root(void);
struct ws_node *ws_node_here(void);
struct ws_node *ws_node_numbered(unsigned int number);

/*
 * A seed for a new node, drawn from the root: its number is hashed in, so that no two
 * nodes ever run in lock-step. -EAGAIN before the root is ready.
 */
int ws_node_initialise(struct ws_node *node);
/* Initialises all nodes once the root has received its 128 bits. Task context. */
void ws_nodes_grow(void);

/* The pools' lock is held: a seed to the root, another to the node whose turn it is. */
void ws_distribution_deliver(const struct ws_seed *seed);
void ws_distribution_wipe(void);

/*
 * Has the root take what was posted. Gives up if a reader is there, who does it. Says
 * whether there is room for the next.
 */
bool ws_node_receive_root(void);
void ws_phase_set(enum ws_phase next);
/* Wakes who waits for the phase there is now. Task context. */
void ws_phase_announce(void);

int ws_nodes_init(void);
void ws_nodes_exit(void);

#endif
