/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * All nodes by number, and which of them serves which CPU.
 */
#ifndef WELLSPRING_NODES_H
#define WELLSPRING_NODES_H

#include <linux/mutex.h>

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
 * Reserves @len bytes on the node that serves this CPU, or with @root on node 0; on node 0
 * too while it is the only one. 0, or -EAGAIN before the first credited seed.
 */
int ws_nodes_reserve(bool root, size_t len, struct ws_reservation *reservation);

/* 0; -ENODATA if this number has no node now; -ENXIO past the last number. */
int ws_nodes_check(unsigned int number);
/* The same, or -EAGAIN before Ready. Output of one node, to be its seed after a reboot. */
int ws_nodes_save(unsigned int number, void *seed, size_t len);
/* Hashes a seed into one node. Errors as ws_nodes_check(). The generation stays. */
int ws_nodes_reseed(unsigned int number, const void *seed, size_t len,
		    u32 credit_bits);
/*
 * Hashes @secret into every node from number @first on, each time with the domain and the
 * node's number. Then it bumps the generation: no read that begins after this call returns
 * a byte that does not depend on @secret.
 */
void ws_nodes_stir(const char *domain, unsigned int first, const void *secret,
		   size_t len, u32 credit_bits);

/* The reservations on all nodes so far. */
u64 ws_nodes_reservations(void);
/* False if there is no such node now. */
bool ws_nodes_statistics(unsigned int number,
			 struct ws_node_statistics *statistics);

/* The rest is for topology.c, which holds this lock where it changes the table. Task context. */
extern struct mutex ws_nodes_lock;

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
