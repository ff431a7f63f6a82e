/* The f_rng callback of Mbed TLS: mbedtls_ssl_conf_rng(&conf, ws_mbedtls_random, NULL).
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WELLSPRING_MBEDTLS_H
#define WELLSPRING_MBEDTLS_H

#include <mbedtls/entropy.h>
#include <wellspring.h>

static inline int ws_mbedtls_random(void *context, unsigned char *output, size_t length) {
    (void)context;
    return ws_fill(output, length) == WS_OK ? 0 : MBEDTLS_ERR_ENTROPY_SOURCE_FAILED;
}

#endif
