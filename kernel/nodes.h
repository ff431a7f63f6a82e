/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * All nodes by number, and which of them serves which CPU.
 */
#ifndef WELLSPRING_NODES_H
#define WELLSPRING_NODES_H

#include "node.h"

/* Node numbers are below this. A machine with more NUMA nodes shares the first ones. */
#define WS_MAX_NODES 64

/* How many numbers were ever in use: 0 .. ws_nodes_count() - 1. Some may be gone. */
unsigned int ws_nodes_count(void);

/* Under rcu_read_lock(): node 0; the node of this CPU; the node @number, or NULL. */
struct ws_node *ws_nodes_root(void);
struct ws_node *ws_nodes_here(void);
struct ws_node *ws_nodes_get(unsigned int number);

/* Below, unless said otherwise: any context but NMI. */

/*
 * Reserves @bytes on the node that serves this CPU, or with @root on node 0; on node 0
 * too while it is the only one. 0, or -EAGAIN before the first credited seed.
 */
int ws_nodes_reserve(bool root, size_t bytes,
		     struct ws_reservation *reservation);
/* A step of a canonical read on node 0: the bytes made, or -EAGAIN. */
ssize_t ws_nodes_read_chunk(void *destination, size_t bytes);

/*
 * Saves and restores the seed of one node. 0; -EAGAIN before Ready (save); -ENODATA if this
 * number has no node now; -ENXIO past the last number. The
 * caller of restore then bumps the generation.
 */
int ws_nodes_save(unsigned int number, void *seed, size_t bytes);
int ws_nodes_restore(unsigned int number, const void *seed, size_t bytes,
		     u32 credit_bits);
/*
 * Hashes @data into every node, each time with the node's number, and bumps the
 * generation.
 */
void ws_nodes_stir(const void *data, size_t bytes);

/* The reservations on all nodes so far. */
u64 ws_nodes_reservations(void);
/* False if there is no such node now. */
bool ws_nodes_statistics(unsigned int number,
			 struct ws_node_statistics *statistics);

/* The rest is for topology.c, which holds its mutex. Task context. */

/* The node @number, or NULL. */
struct ws_node *ws_nodes_held(unsigned int number);
/* A number that is free, or WS_MAX_NODES. */
unsigned int ws_nodes_free_number(void);
void ws_nodes_publish(struct ws_node *node);
/* Takes a node out, and returns when its last reader is gone. Not for node 0. */
void ws_nodes_withdraw(struct ws_node *node);
/* Has each NUMA node served by the nearest node. */
void ws_nodes_map(void);
/* 0 or -ENOMEM. */
int ws_nodes_init(void);
void ws_nodes_exit(void);

#endif
