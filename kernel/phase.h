/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How far seeding has come. The phase only ever moves forward.
 */
#ifndef WELLSPRING_PHASE_H
#define WELLSPRING_PHASE_H

#include <linux/wait.h>

enum ws_phase {
	WS_EMPTY,	/* no credited seed */
	WS_EARLY,	/* node 0 has one: wellspring_get_early_bytes() works */
	WS_READY,	/* 128 bits were credited, every node is initialised: reads work */
};

/* Any context. */
enum ws_phase ws_phase(void);
const char *ws_phase_name(enum ws_phase phase);

/* Moves forward to @next; a phase before the present one changes nothing. Any context. */
void ws_phase_advance(enum ws_phase next);

/* Wakes all that wait, if the phase changed since the last call. Task context. */
void ws_phase_announce(void);

/* Woken by ws_phase_announce(). */
extern wait_queue_head_t ws_phase_wait;

#endif
