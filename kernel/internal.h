/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * source -> health -> harvest -> pool -> generator -> node -> tap -> door
 *
 * Everything in the order in which data flows, and what main.c starts and stops.
 */
#ifndef WELLSPRING_INTERNAL_H
#define WELLSPRING_INTERNAL_H

#include "compat.h"
#include "source.h"
#include "health.h"
#include "timing.h"
#include "harvest.h"
#include "pool.h"
#include "cipher.h"
#include "generator.h"
#include "node.h"
#include "simd.h"
#include "tap.h"
#include "pseudo.h"
#include "wellspring.h"

/* What happens on a read (read.c): the ladder that this project exists for. */
enum ws_mode {
	WS_CANONICAL,
	WS_CONCURRENT,
	WS_PER_NODE,
	WS_PER_CPU,
	WS_MODES,
};

enum ws_mode ws_mode(void);
const char *ws_mode_name(enum ws_mode mode);
/* One read in a given mode, whatever the parameter says; else wellspring_get_bytes(). */
int ws_read(enum ws_mode mode, void *destination, size_t bytes);

/* The cipher of all generators and taps, chosen at load. */
extern enum ws_cipher ws_cipher;

/* Known answers (answers.c): 0, or -EBADMSG for a build that must not run. */
int ws_answers_check(void);

/*
 * Memory for secrets, zeroed, and the means to make the nth fallible step of loading
 * fail (parameter fail_step), by which the tests walk the whole ladder.
 */
bool ws_step_fails(void);
void *ws_alloc_node(size_t bytes, int numa_node);
void ws_free(void *memory, size_t bytes);

/* The edges. Each init is undone by its exit; main.c has the order. */
int ws_clone_init(void);
void ws_clone_exit(void);
int ws_debugfs_init(void);
void ws_debugfs_exit(void);
int ws_rng_init(void);
void ws_rng_exit(void);
int ws_device_init(void);
void ws_device_exit(void);

#endif
