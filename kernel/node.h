/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A generator per NUMA node, and how seeds are shared out among them.
 */
#ifndef WELLSPRING_NODE_H
#define WELLSPRING_NODE_H

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

enum ws_mailbox_state {
	WS_MAILBOX_EMPTY,
	WS_MAILBOX_POSTING,
	WS_MAILBOX_FULL,
};

/* How a seed reaches a node without anyone waiting: it holds one. */
struct ws_mailbox {
	atomic_t state;
	atomic_t credit_bits;	/* of the node, not of the seed */
	struct ws_seed seed;
};

/*
 * In its own NUMA node's memory. The readers' lines and the harvest thread's are
 * different ones.
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
};

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

/* The harvest side; the pools' lock is held. */
bool ws_nodes_root_is_hungry(void);
void ws_nodes_deliver(const struct ws_seed *seed);
/* Has node 0 take what was posted, so that the phase is known. Gives up if busy. */
void ws_nodes_receive_root(void);

int ws_nodes_init(void);
void ws_nodes_exit(void);

#endif
