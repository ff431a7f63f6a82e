/* Mbed TLS draws on wellspring.
 *
 * Versions 2 and 3: mbedtls_ssl_conf_rng(&conf, ws_mbedtls_random, NULL), and as f_rng of other functions.
 *
 * Version 4 has no such callbacks. It draws on mbedtls_psa_external_get_random, if it was built with
 * MBEDTLS_PSA_CRYPTO_EXTERNAL_RNG. This header defines that function: include it in one file of the program. It does so for
 * PSA in versions 2.26 to 3 as well, where that option is set.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WELLSPRING_MBEDTLS_H
#define WELLSPRING_MBEDTLS_H

#include <mbedtls/version.h>
#include <wellspring.h>

#if MBEDTLS_VERSION_MAJOR < 4
#include <mbedtls/entropy.h>

static inline int ws_mbedtls_random(void *context, unsigned char *output, size_t length) {
    (void)context;
    return ws_fill(output, length) == WS_OK ? 0 : MBEDTLS_ERR_ENTROPY_SOURCE_FAILED;
}
#elif !defined(MBEDTLS_PSA_CRYPTO_EXTERNAL_RNG)
#error "Mbed TLS 4 draws on wellspring only if it was built with MBEDTLS_PSA_CRYPTO_EXTERNAL_RNG"
#endif

#if defined(MBEDTLS_PSA_CRYPTO_EXTERNAL_RNG)
#include <psa/crypto.h>

psa_status_t mbedtls_psa_external_get_random(
    mbedtls_psa_external_random_context_t *context, uint8_t *output, size_t output_size, size_t *output_length) {
    (void)context;
    if (ws_fill(output, output_size) != WS_OK) {
        return PSA_ERROR_INSUFFICIENT_ENTROPY;
    }
    *output_length = output_size;
    return PSA_SUCCESS;
}
#endif

#endif
