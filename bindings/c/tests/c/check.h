/* What the programs share: an assertion that stays in optimised builds, a draw, and a search for equal records.
 * Programs that other doors use as well draw by getrandom if DOOR_GETRANDOM is defined, from a generator of the OpenSSL
 * provider if DOOR_OPENSSL is, and by RAND_bytes if DOOR_RAND_BYTES is too. With DOOR_IDENTIFIERS the records are UUIDs of
 * version 7. */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(DOOR_GETRANDOM)
#include <sys/random.h>
#elif defined(DOOR_OPENSSL)
#include <openssl/evp.h>
#include <openssl/rand.h>
#else
#include <wellspring.h>
#endif

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);   \
            _exit(1);                                                         \
        }                                                                     \
    } while (0)

struct record {
    uint64_t word[2];
};

#if defined(DOOR_OPENSSL) && !defined(DOOR_RAND_BYTES)
/* One generator for all threads and signal handlers: the provider's needs no lock. RAND_bytes takes locks of OpenSSL,
 * which another thread may hold at a fork. */
static EVP_RAND_CTX *check_generator;

__attribute__((unused)) static void check_start(void) {
    EVP_RAND *algorithm = EVP_RAND_fetch(NULL, "WELLSPRING", "provider=wellspring");
    CHECK(algorithm != NULL);
    check_generator = EVP_RAND_CTX_new(algorithm, NULL);
    EVP_RAND_free(algorithm);
    CHECK(check_generator != NULL && EVP_RAND_instantiate(check_generator, 256, 0, NULL, 0, NULL) == 1);
}
#elif defined(DOOR_RAND_BYTES)
/* OpenSSL opens its configuration and the provider now. */
static inline void check_start(void) {
    unsigned char byte;
    CHECK(RAND_bytes(&byte, 1) == 1);
}
#else
static inline void check_start(void) {}
#endif

static inline void check_draw(void *destination, size_t length) {
#if defined(DOOR_GETRANDOM)
    CHECK(getrandom(destination, length, 0) == (ssize_t)length);
#elif defined(DOOR_RAND_BYTES)
    CHECK(RAND_bytes(destination, (int)length) == 1);
#elif defined(DOOR_OPENSSL)
    CHECK(EVP_RAND_generate(check_generator, destination, length, 256, 0, NULL, 0) == 1);
#else
    CHECK(ws_fill(destination, length) == WS_OK);
#endif
}

static inline struct record check_record(void) {
    struct record record;
#ifdef DOOR_IDENTIFIERS
    CHECK(ws_uuid7((uint8_t *)&record) == WS_OK);
#else
    check_draw(&record, sizeof record);
#endif
    return record;
}

static inline int check_order(const void *a, const void *b) {
    return memcmp(a, b, sizeof(struct record));
}

/* Two records of 128 random bits are equal with a probability of 2^-90 or less in these tests; two identifiers, which have
 * 56 random bits behind a counter, of 2^-36 or less. */
static inline void check_all_differ(struct record *records, size_t count) {
    qsort(records, count, sizeof *records, check_order);
    for (size_t i = 1; i < count; i++) {
        CHECK(check_order(&records[i - 1], &records[i]) != 0);
    }
}

#endif
