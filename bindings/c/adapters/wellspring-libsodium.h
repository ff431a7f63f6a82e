/* libsodium draws on wellspring: call ws_use_for_libsodium() before sodium_init().
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WELLSPRING_LIBSODIUM_H
#define WELLSPRING_LIBSODIUM_H

#include <sodium.h>
#include <stdlib.h>
#include <wellspring.h>

static const char *ws_sodium_name(void) { return "wellspring"; }
static uint32_t ws_sodium_random(void) { return ws_u32(); }

static void ws_sodium_buf(void *buf, size_t size) {
    if (ws_fill(buf, size) != WS_OK) {
        abort(); /* libsodium has no way to say that there are no bytes. */
    }
}

static inline int ws_use_for_libsodium(void) {
    /* Static: libsodium keeps the pointer. */
    static struct randombytes_implementation ws_sodium = {
        ws_sodium_name, ws_sodium_random, NULL, NULL, ws_sodium_buf, NULL,
    };
    return randombytes_set_implementation(&ws_sodium);
}

#endif
