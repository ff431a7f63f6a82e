/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which nodes get which seeds.
 */
#ifndef WELLSPRING_DISTRIBUTION_H
#define WELLSPRING_DISTRIBUTION_H

#include "node.h"

/* The credit of one seed after which the root is ready. */
#define WS_READY_BITS 128

/* Task context. */

/* The root has had a seed of 128 bits. */
bool ws_distribution_is_ready(void);
/*
 * The pools' lock is held. Whether a seed with this credit may leave the pools. The first
 * one may, if it has any credit: the early seed. After it, until the root is ready, only
 * one of 128 bits: small credits stay in the pools until they are 128 bits together.
 */
bool ws_distribution_accepts(u32 credit_bits);
/*
 * A published node's first seed, drawn from the root. 0, or -EAGAIN before the root is
 * ready.
 */
int ws_distribution_initialise(struct ws_node *node);
/* False if the root has not taken the last seed, since a reader holds its lock. */
bool ws_distribution_has_room(void);

/* The pools' lock is held. */

/*
 * In a round of the harvester, while there is room: gives a seed to the root, and another
 * one to the node whose turn it is, and bumps the generation. Waits for no lock.
 */
void ws_distribution_deliver(const struct ws_seed *seed);
/* By order: gives a seed to every node, and bumps the generation then. */
void ws_distribution_order(const struct ws_seed *seed);

void ws_distribution_exit(void);

#endif
