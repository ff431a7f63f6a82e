/* Mbed TLS makes a key with our callback. */
#include "check.h"
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
