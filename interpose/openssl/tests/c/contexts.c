/* The provider through OpenSSL's own functions: the first argument names a step. */
#include "check.h"
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 20 };

static void *load_and_free(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
        CHECK(context != NULL && OSSL_LIB_CTX_load_config(context, getenv("OPENSSL_CONF")) == 1);
        struct record records[2];
        CHECK(RAND_bytes_ex(context, (unsigned char *)&records[0], sizeof *records, 0) == 1);
        CHECK(RAND_priv_bytes_ex(context, (unsigned char *)&records[1], sizeof *records, 0) == 1);
        check_all_differ(records, 2);
        /* OpenSSL calls dlclose if no other context has the provider. */
        OSSL_LIB_CTX_free(context);
    }
    return unused;
}

/* Threads load the provider and let it go, while others draw. */
static void loads(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, load_and_free, NULL) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

static void check_generate(EVP_RAND_CTX *generator, unsigned char *bytes) {
    unsigned char *volatile none = NULL;
    CHECK(EVP_RAND_generate(generator, none, 0, 256, 0, NULL, 0) == 1);
    CHECK(EVP_RAND_generate(generator, none, 16, 256, 0, NULL, 0) == 0);
    CHECK(EVP_RAND_generate(generator, none, SIZE_MAX, 256, 0, NULL, 0) == 0);
    bytes[16] = 0xA5;
    CHECK(EVP_RAND_generate(generator, bytes, 16, 257, 0, NULL, 0) == 0);
    CHECK(EVP_RAND_generate(generator, bytes, 16, 256, 1, none, 0) == 1);
    CHECK(EVP_RAND_generate(generator, bytes, 16, 0, 0, (unsigned char *)"more", 4) == 1);
    CHECK(bytes[16] == 0xA5);
}

/* A null pointer is fine with length 0 only, and an error leaves the generator as it was. */
static void bad_input(void) {
    unsigned char bytes[17], *volatile none = NULL;
    CHECK(RAND_bytes(none, 0) == 1 && RAND_priv_bytes(none, 0) == 1);
    CHECK(RAND_bytes(none, 16) == 0 && RAND_bytes(bytes, -1) == 0);
    CHECK(RAND_bytes(none, 0x7fffffff) == 0);
    CHECK(RAND_bytes(bytes, sizeof bytes) == 1);
    EVP_RAND *algorithm = EVP_RAND_fetch(NULL, "WELLSPRING", "provider=wellspring");
    CHECK(algorithm != NULL);
    EVP_RAND_CTX *generator = EVP_RAND_CTX_new(algorithm, NULL);
    EVP_RAND_free(algorithm);
    CHECK(generator != NULL && EVP_RAND_get_strength(generator) == 256);
    CHECK(EVP_RAND_get_state(generator) == EVP_RAND_STATE_UNINITIALISED);
    CHECK(EVP_RAND_generate(generator, bytes, 16, 0, 0, NULL, 0) == 0);
    CHECK(EVP_RAND_instantiate(generator, 257, 0, NULL, 0, NULL) == 0);
    CHECK(EVP_RAND_get_state(generator) != EVP_RAND_STATE_READY);
    CHECK(EVP_RAND_instantiate(generator, 256, 0, (const unsigned char *)"name", 4, NULL) == 1);
    CHECK(EVP_RAND_get_state(generator) == EVP_RAND_STATE_READY);
    check_generate(generator, bytes);
    CHECK(EVP_RAND_reseed(generator, 1, NULL, 0, NULL, 0) == 1);
    CHECK(EVP_RAND_enable_locking(generator) == 1 && EVP_RAND_verify_zeroization(generator) == 1);
    unsigned char nonce[32];
    CHECK(EVP_RAND_nonce(generator, nonce, sizeof nonce) == 1);
    CHECK(EVP_RAND_uninstantiate(generator) == 1);
    CHECK(EVP_RAND_generate(generator, bytes, 16, 0, 0, NULL, 0) == 0);
    EVP_RAND_CTX_free(generator);
    EVP_RAND_CTX_free(NULL);
    struct record records[2];
    CHECK(RAND_bytes((unsigned char *)records, sizeof records) == 1);
    check_all_differ(records, 2);
}

static unsigned int reseeds(EVP_RAND_CTX *generator) {
    unsigned int count = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_DRBG_PARAM_RESEED_COUNTER, &count), OSSL_PARAM_construct_end()};
    CHECK(EVP_RAND_CTX_get_params(generator, params) == 1);
    return count;
}

/* A reseed for each request with prediction resistance and for each order; by itself the engine waits 100 ms. */
static void prediction_resistance(void) {
    EVP_RAND *algorithm = EVP_RAND_fetch(NULL, "WELLSPRING", "provider=wellspring");
    CHECK(algorithm != NULL);
    EVP_RAND_CTX *generator = EVP_RAND_CTX_new(algorithm, NULL);
    EVP_RAND_free(algorithm);
    CHECK(generator != NULL && EVP_RAND_instantiate(generator, 256, 0, NULL, 0, NULL) == 1);
    for (int i = 0; i < 100; i++) {
        const unsigned int before = reseeds(generator);
        unsigned char bytes[16];
        if (i % 2) {
            CHECK(EVP_RAND_generate(generator, bytes, sizeof bytes, 256, 1, NULL, 0) == 1);
        } else {
            CHECK(EVP_RAND_reseed(generator, 1, NULL, 0, NULL, 0) == 1);
        }
        CHECK(reseeds(generator) > before);
    }
    EVP_RAND_CTX_free(generator);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "loads") == 0) {
        loads();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "prediction_resistance") == 0) {
        prediction_resistance();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "bad_input") == 0) {
        bad_input();
        return 0;
    }
    return 2;
}
