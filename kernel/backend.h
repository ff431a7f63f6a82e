/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which cipher was chosen, and which backends this CPU has.
 */
#ifndef WELLSPRING_BACKEND_H
#define WELLSPRING_BACKEND_H

#include "cipher.h"

/* The cipher of all generators and taps, chosen when the module is loaded. */
extern enum ws_cipher ws_cipher;

const char *ws_cipher_name(enum ws_cipher cipher);
const char *ws_backend_name(enum ws_cipher cipher, enum ws_backend backend);

/* The backend of keystreams that start now: the fastest that this CPU has. */
enum ws_backend ws_best_backend(enum ws_cipher cipher);
/*
 * For tests: keystreams that start from now on use @backend, which is at most the one
 * that was detected. Returns the one before.
 */
enum ws_backend ws_use_backend(enum ws_cipher cipher, enum ws_backend backend);

/* Reads the parameter and detects backends. 0, or -EINVAL for an unknown cipher. */
int ws_backends_init(void);

#endif
