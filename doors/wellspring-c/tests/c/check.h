/* What the programs share: an assertion that stays in optimised builds, and a search for equal records. */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wellspring.h>

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

static inline struct record check_record(void) {
    struct record record;
    CHECK(ws_fill(&record, sizeof record) == WS_OK);
    return record;
}

static inline int check_order(const void *a, const void *b) {
    return memcmp(a, b, sizeof(struct record));
}

/* Two records of 128 random bits are equal with a probability of 2^-90 or less in these tests. */
static inline void check_all_differ(struct record *records, size_t count) {
    qsort(records, count, sizeof *records, check_order);
    for (size_t i = 1; i < count; i++) {
        CHECK(check_order(&records[i - 1], &records[i]) != 0);
    }
}

#endif
