/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which nodes get which seeds.
 */
#ifndef WELLSPRING_DISTRIBUTION_H
#define WELLSPRING_DISTRIBUTION_H

#include "node.h"

/* The credit that node 0 must have received before another node is initialised. */
#define WS_READY_BITS 128

/* Task context. */

/* The root's first 128 bits are there. */
bool ws_distribution_is_ready(void);
/*
 * Posts a node's first seed, drawn from the root: the node's number is hashed in, so
 * that no two nodes ever have the same state. 0, or -EAGAIN before the root is ready.
 */
int ws_distribution_initialise(struct ws_node *node);
/*
 * Has the root take what was posted, unless a reader holds its lock and @may_wait is
 * false. True if there is room for the next seed.
 */
bool ws_distribution_make_room(bool may_wait);
/*
 * The pools' lock is held. Posts a seed to the root, and another one to the node whose
 * turn it is, and bumps the generation.
 */
void ws_distribution_deliver(const struct ws_seed *seed);
void ws_distribution_exit(void);

#endif
