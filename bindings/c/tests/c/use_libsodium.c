/* libsodium with its generator replaced. */
#include "check.h"
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
