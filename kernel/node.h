/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * One node: a generator behind a lock, and the mailbox that feeds it.
 */
#ifndef WELLSPRING_NODE_H
#define WELLSPRING_NODE_H

#include <linux/cache.h>
#include <linux/spinlock.h>

#include "generator.h"
#include "pool.h"

/* The most credit that a node keeps: the capacity of Linux's old nonblocking pool. */
#define WS_CAPACITY_BITS 1024
/* A node with less credit gets seeds before others: 75 % of the capacity. */
#define WS_SERVED_FIRST_BELOW_BITS (WS_CAPACITY_BITS / 4 * 3)

/*
 * A seed on its way to a node, so that the sender does not wait for readers. It holds one
 * seed, and is full only while a reader has the lock, or until the next one has it.
 */
struct ws_mailbox {
	bool full;
	struct ws_seed seed;
};

/* The reader's cache lines come first, the harvester's after them. */
struct ws_node {
	raw_spinlock_t lock;
	unsigned int number;	/* 0 is the root */
	int numa_node;		/* that it belongs to */
	struct ws_generator generator;
	u64 credited_bits;	/* received, in all */
	u32 credit_bits;	/* received minus output: who gets the next seed */
	u64 reseeds;
	u64 reseeded_ms;
	u64 reservations;
	u64 contended;
	u64 lock_wait_ns;

	struct ws_mailbox mailbox ____cacheline_aligned_in_smp;
} ____cacheline_aligned_in_smp;

struct ws_node_statistics {
	int numa_node;		/* that it belongs to */
	int memory_node;	/* that its memory is in: the same one */
	u64 reservations;	/* times that the lock was taken for output */
	u64 contended;		/* times that the lock was not free */
	u64 lock_wait_ns;	/* the time spent waiting for it, in all */
	u64 reseeds;		/* seeds received */
	u64 reseed_age_ms;	/* since the last seed; U64_MAX if there was none */
	u64 credited_bits;	/* credit received, in all */
	u32 credit_bits;	/* credit left */
	bool mailbox_full;
};

/* All in any context but NMI. */
void ws_node_init(struct ws_node *node, unsigned int number, int numa_node);

/*
 * One caller at a time, the harvester. Puts a seed into the mailbox and has the node take
 * it, unless a reader holds the lock: the next reader then empties the mailbox. False, and
 * nothing is posted, if the mailbox is still full.
 */
bool ws_node_feed(struct ws_node *node, const void *seed, size_t len,
		  u32 credit_bits);
/* Empties the mailbox, unless the lock is taken. True if it is empty. */
bool ws_node_has_room(struct ws_node *node);
bool ws_node_is_served_first(const struct ws_node *node);

/* 0, or -EAGAIN before the first credited seed. */
int ws_node_reserve(struct ws_node *node, size_t len,
		    struct ws_reservation *reservation);
/* Hashes a seed into the generator at once, without the mailbox. */
void ws_node_reseed(struct ws_node *node, const void *seed, size_t len,
		    u32 credit_bits);

u64 ws_node_credited_bits(const struct ws_node *node);
void ws_node_statistics(struct ws_node *node,
			struct ws_node_statistics *statistics);

#endif
