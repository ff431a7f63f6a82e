/* The adapters for other libraries: -DUSE_SODIUM, -DUSE_GSL or -DUSE_MBEDTLS. */
#include "check.h"

#if defined(USE_SODIUM)

/* libsodium with its generator replaced. */
#include <wellspring-libsodium.h>

int main(void) {
    CHECK(ws_use_for_libsodium() == 0 && sodium_init() == 0);
    CHECK(strcmp(randombytes_implementation_name(), "wellspring") == 0);
    struct record records[64];
    randombytes_buf(records, sizeof records);
    check_all_differ(records, 64);
    CHECK(randombytes_uniform(10) < 10);
    unsigned char public_key[crypto_box_PUBLICKEYBYTES], secret_key[crypto_box_SECRETKEYBYTES];
    CHECK(crypto_box_keypair(public_key, secret_key) == 0);
    return 0;
}

#elif defined(USE_GSL)

/* Both generators of the GNU Scientific Library. */
#include <gsl/gsl_randist.h>
#include <wellspring-gsl.h>

int main(void) {
    gsl_rng *secure = gsl_rng_alloc(ws_gsl_secure);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        sum += gsl_ran_gaussian(secure, 1.0);
    }
    /* The mean of 100000 has a standard deviation of 0.0032. */
    CHECK(sum / 100000 < 0.05 && sum / 100000 > -0.05);
    CHECK(gsl_rng_uniform_int(secure, 6) < 6);
    gsl_rng *stream = gsl_rng_alloc(ws_gsl_stream);
    gsl_rng_set(stream, 2026);
    ws_stream *same;
    CHECK(ws_stream_new(&same, "chacha8", 2026, 0, NULL, 0) == WS_OK);
    for (int i = 0; i < 50; i++) {
        CHECK(gsl_rng_get(stream) == ws_stream_u32(same));
    }
    gsl_rng *copy = gsl_rng_clone(stream);
    for (int i = 0; i < 50; i++) {
        CHECK(gsl_rng_get(stream) == gsl_rng_get(copy));
    }
    ws_stream_free(same);
    gsl_rng_free(copy);
    gsl_rng_free(stream);
    gsl_rng_free(secure);
    return 0;
}

#elif defined(USE_MBEDTLS)

/* Mbed TLS makes a key with our callback. */
#include <mbedtls/ecp.h>
#include <wellspring-mbedtls.h>

/* Mbed TLS 3 hides fields behind this; version 2 has no such macro. */
#ifndef MBEDTLS_PRIVATE
#define MBEDTLS_PRIVATE(field) field
#endif

int main(void) {
    mbedtls_ecp_keypair one, two;
    mbedtls_ecp_keypair_init(&one);
    mbedtls_ecp_keypair_init(&two);
    CHECK(mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, &one, ws_mbedtls_random, NULL) == 0);
    CHECK(mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, &two, ws_mbedtls_random, NULL) == 0);
    CHECK(mbedtls_ecp_point_cmp(&one.MBEDTLS_PRIVATE(Q), &two.MBEDTLS_PRIVATE(Q)) != 0);
#if defined(MBEDTLS_PSA_CRYPTO_EXTERNAL_RNG)
    /* The library of the system was built without this option, and does not call the function itself. */
    struct record drawn[2] = {{{0, 0}}, {{0, 0}}};
    size_t length = 0;
    for (int i = 0; i < 2; i++) {
        CHECK(mbedtls_psa_external_get_random(NULL, (uint8_t *)&drawn[i], sizeof *drawn, &length) == PSA_SUCCESS);
        CHECK(length == sizeof *drawn && drawn[i].word[0] != 0);
    }
    check_all_differ(drawn, 2);
    CHECK(mbedtls_psa_external_get_random(NULL, NULL, 1, &length) == PSA_ERROR_INSUFFICIENT_ENTROPY);
#endif
    CHECK(ws_mbedtls_random(NULL, NULL, 1) == MBEDTLS_ERR_ENTROPY_SOURCE_FAILED);
    mbedtls_ecp_keypair_free(&one);
    mbedtls_ecp_keypair_free(&two);
    return 0;
}

#endif
