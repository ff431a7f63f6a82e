/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Makes and retires nodes while CPUs and memory come and go.
 */
#ifndef WELLSPRING_TOPOLOGY_H
#define WELLSPRING_TOPOLOGY_H

/*
 * Task context. From Early to Ready, once the root has its 128 bits: initialises all
 * nodes. Then wakes all that wait for the phase.
 */
void ws_topology_grow(void);

/*
 * For tests: retires a node as if its memory had left, and then makes it again. 0 or a
 * negative errno. Not for node 0.
 */
int ws_topology_replace(unsigned int number);

int ws_topology_init(void);
void ws_topology_exit(void);

#endif
