/* Every function once, and every error. */
#include "check.h"
#include <stddef.h>
#include <sys/resource.h>

/* The layout is part of the interface: fields are added at the end only. */
_Static_assert(offsetof(struct ws_stats, phase) == 0, "phase");
_Static_assert(offsetof(struct ws_stats, generation) == 8, "generation");
_Static_assert(offsetof(struct ws_stats, taps) == 16, "taps");
_Static_assert(offsetof(struct ws_stats, unlocked_bytes) == 80, "unlocked_bytes");
_Static_assert(sizeof(struct ws_stats) == 88, "size");

static void check_fill(void) {
    unsigned char bytes[34];
    unsigned char seen[34] = {0};
    for (int round = 0; round < 40; round++) {
        memset(bytes, 0xA5, sizeof bytes);
        CHECK(ws_fill(bytes + 1, 32) == WS_OK);
        CHECK(bytes[0] == 0xA5 && bytes[33] == 0xA5);
        for (int i = 0; i < 34; i++) {
            seen[i] |= bytes[i] ^ 0xA5;
        }
    }
    for (int i = 1; i < 33; i++) {
        CHECK(seen[i] != 0);
    }
    CHECK(ws_try_fill(bytes, sizeof bytes) == WS_OK);
    size_t large = 5 << 20;
    unsigned char *many = calloc(1, large);
    CHECK(many != NULL && ws_fill(many, large) == WS_OK);
    size_t zeros = 0;
    for (size_t i = 0; i < large; i++) {
        zeros += many[i] == 0;
    }
    CHECK(zeros > large / 512 && zeros < large / 128);
    free(many);
}

static void check_numbers(void) {
    CHECK(ws_u64() != ws_u64());
    uint32_t bits = 0;
    for (int i = 0; i < 200; i++) {
        bits |= ws_u32();
    }
    CHECK(bits == 0xffffffff);
    unsigned seen = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t die = ws_below(6);
        CHECK(die < 6);
        seen |= 1u << die;
        CHECK(ws_below(UINT64_MAX) < UINT64_MAX);
        double fraction = ws_double();
        CHECK(fraction >= 0 && fraction < 1);
    }
    CHECK(seen == 0x3f && ws_below(0) == 0 && ws_below(1) == 0);
}

static void check_bad_input(void) {
    char byte;
    CHECK(ws_fill(NULL, 0) == WS_OK && ws_try_fill(NULL, 0) == WS_OK);
    CHECK(ws_fill(NULL, 1) == WS_NULL && ws_try_fill(NULL, 1) == WS_NULL);
    volatile size_t absurd = SIZE_MAX;
    CHECK(ws_fill(&byte, absurd) == WS_TOO_LONG && ws_try_fill(&byte, absurd) == WS_TOO_LONG);
    absurd = (size_t)PTRDIFF_MAX + 1;
    CHECK(ws_fill(&byte, absurd) == WS_TOO_LONG && ws_try_fill(&byte, absurd) == WS_TOO_LONG);
    CHECK(ws_fill(NULL, absurd) == WS_NULL);
    CHECK(ws_rng_new(NULL) == WS_NULL);
    ws_rng_free(NULL);
    CHECK(ws_rng_fill(NULL, &byte, 1) == WS_NULL);
    ws_stream *stream = (ws_stream *)&byte;
    uint32_t path[1] = {0};
    CHECK(ws_stream_new(NULL, "chacha8", 0, 0, NULL, 0) == WS_NULL);
    CHECK(ws_stream_new(&stream, NULL, 0, 0, NULL, 0) == WS_NULL && stream == NULL);
    CHECK(ws_stream_new(&stream, "chacha8", 0, 0, NULL, 1) == WS_NULL);
    CHECK(ws_stream_new(&stream, "chacha8", 0, 0, path, absurd) == WS_TOO_LONG);
    CHECK(ws_stream_new(&stream, "chacha9", 0, 0, NULL, 0) == WS_NO_ALGORITHM);
    CHECK(ws_stream_new(&stream, "\xff", 0, 0, NULL, 0) == WS_NO_ALGORITHM && stream == NULL);
    ws_stream_free(NULL);
    CHECK(ws_stream_fill(NULL, &byte, 1) == WS_NULL && ws_stream_seek(NULL, 0, 0) == WS_NULL);
    CHECK(ws_stream_tell(NULL, NULL, NULL) == WS_NULL);
    CHECK(strcmp(ws_strerror(WS_OK), "success") == 0);
    CHECK(strstr(ws_strerror(WS_NULL), "null") && ws_strerror(-7) != NULL);
}

static void check_identifiers(void) {
    /* RFC 9562 appendix A.6, and the example of the specification of ULIDs. */
    const uint8_t uuid[16] = {1, 0x7f, 0x22, 0xe2, 0x79, 0xb0, 0x7c, 0xc3, 0x98, 0xc4, 0xdc, 12, 12, 7, 0x39, 0x8f};
    const uint8_t ulid[16] = {1, 0x56, 0x3e, 0x3a, 0xb5, 0xd3, 0xd6, 0x76, 0x4c, 0x61, 0xef, 0xb9, 0x93, 2, 0xbd, 0x5b};
    char text[40];
    memset(text, 'x', sizeof text);
    CHECK(ws_uuid_text(uuid, text) == WS_OK && text[37] == 'x');
    CHECK(strcmp(text, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f") == 0);
    memset(text, 'x', sizeof text);
    CHECK(ws_ulid_text(ulid, text) == WS_OK && text[27] == 'x');
    CHECK(strcmp(text, "01ARZ3NDEKTSV4RRFFQ69G5FAV") == 0);
    CHECK(ws_hex(ulid, 7, text) == WS_OK && strcmp(text, "01563e3ab5d3d6") == 0);
    CHECK(ws_hex(NULL, 0, text) == WS_OK && text[0] == 0);
    uint8_t before[16], id[17] = {0};
    CHECK(ws_uuid7(before) == WS_OK);
    for (int i = 0; i < 100000; i++) {
        id[16] = 0xA5;
        CHECK(ws_uuid7(id) == WS_OK && id[6] >> 4 == 7 && id[8] >> 6 == 2 && memcmp(before, id, 16) < 0);
        memcpy(before, id, 16);
        CHECK(ws_uuid4(id) == WS_OK && id[6] >> 4 == 4 && id[8] >> 6 == 2 && memcmp(before, id, 16) != 0);
        CHECK(ws_ulid(id) == WS_OK && memcmp(before, id, 6) <= 0 && id[16] == 0xA5);
    }
    CHECK(ws_uuid4(NULL) == WS_NULL && ws_uuid7(NULL) == WS_NULL && ws_ulid(NULL) == WS_NULL);
    CHECK(ws_uuid_text(NULL, text) == WS_NULL && ws_uuid_text(id, NULL) == WS_NULL);
    CHECK(ws_ulid_text(NULL, text) == WS_NULL && ws_ulid_text(id, NULL) == WS_NULL);
    volatile size_t absurd = SIZE_MAX;
    CHECK(ws_hex(NULL, 1, text) == WS_NULL && ws_hex(id, 1, NULL) == WS_NULL && ws_hex(id, absurd, text) == WS_TOO_LONG);
}

static void check_rng(void) {
    ws_rng *one, *two;
    CHECK(ws_rng_new(&one) == WS_OK && ws_rng_new(&two) == WS_OK);
    CHECK(ws_rng_u64(one) != ws_rng_u64(two));
    CHECK(ws_rng_u64(one) != ws_rng_u64(one));
    CHECK(ws_rng_u32(one) <= UINT32_MAX && ws_rng_below(one, 3) < 3 && ws_rng_below(one, 0) == 0);
    struct record records[2] = {{{0, 0}}, {{0, 0}}};
    CHECK(ws_rng_fill(one, &records[0], sizeof *records) == WS_OK);
    CHECK(ws_rng_fill(two, &records[1], sizeof *records) == WS_OK);
    check_all_differ(records, 2);
    CHECK(ws_rng_fill(one, NULL, 0) == WS_OK && ws_rng_fill(one, NULL, 1) == WS_NULL);
    CHECK(ws_rng_fill(one, records, SIZE_MAX) == WS_TOO_LONG);
    ws_rng_free(one);
    ws_rng_free(two);
}

static void check_stream(void) {
    const uint32_t path[] = {3, 0, 17};
    unsigned char whole[64], part[64];
    ws_stream *stream;
    CHECK(ws_stream_new(&stream, "chacha8", 2026, 0, path, 3) == WS_OK);
    CHECK(ws_stream_fill(stream, whole, 64) == WS_OK);
    uint64_t low = 0, high = 1;
    CHECK(ws_stream_tell(stream, &low, &high) == WS_OK && low == 64 && high == 0);
    CHECK(ws_stream_seek(stream, 5, 0) == WS_OK && ws_stream_fill(stream, part, 3) == WS_OK);
    CHECK(memcmp(part, whole + 5, 3) == 0);
    uint32_t word = ws_stream_u32(stream);
    uint64_t words = ws_stream_u64(stream);
    CHECK(word == (uint32_t)(whole[8] | whole[9] << 8 | whole[10] << 16) + ((uint32_t)whole[11] << 24));
    for (int i = 0; i < 8; i++) {
        CHECK(((words >> (8 * i)) & 0xff) == whole[12 + i]);
    }
    CHECK(ws_stream_seek(stream, 1, 7) == WS_OK && ws_stream_tell(stream, &low, &high) == WS_OK);
    CHECK(low == 1 && high == 7 && ws_stream_tell(stream, NULL, NULL) == WS_OK);
    ws_stream_free(stream);
    for (int i = 0; i < 16; i++) {
        printf("%02x", whole[i]);
    }
    printf("\n");
}

static void check_engine(void) {
    uint64_t before = ws_generation();
    CHECK(before >= 1 && ws_reseed() == WS_OK && ws_generation() > before);
    before = ws_generation();
    CHECK(ws_diverge_from_clones() == WS_OK && ws_generation() > before);
    char data[100] = {0};
    volatile size_t absurd = SIZE_MAX;
    CHECK(ws_mix(data, sizeof data) == WS_OK && ws_mix(data, 1) == WS_OK && ws_mix(NULL, 0) == WS_OK);
    CHECK(ws_mix(NULL, 1) == WS_NULL && ws_mix(data, absurd) == WS_TOO_LONG);
    struct ws_stats stats;
    memset(&stats, 0xA5, sizeof stats);
    CHECK(ws_stats(&stats, sizeof stats) == WS_OK);
    CHECK(stats.phase == 2 && stats.generation >= ws_generation() - 1 && stats.nodes >= 1);
    CHECK(stats.taps >= 1 && stats.sources >= 1 && stats.active_sources <= stats.sources);
    CHECK(stats.credited_bits >= 128 && stats.harvested_bytes >= 16 && stats.fetches >= 1);
    /* A program that was built with an older, and with a newer header. */
    struct {
        struct ws_stats known;
        uint64_t later, guard;
    } wide;
    memset(&wide, 0xA5, sizeof wide);
    CHECK(ws_stats(&wide.known, 16) == WS_OK);
    CHECK(wide.known.phase == 2 && wide.known.taps == 0xA5A5A5A5A5A5A5A5);
    CHECK(ws_stats(&wide.known, sizeof stats + 8) == WS_OK);
    CHECK(wide.known.nodes == stats.nodes && wide.later == 0 && wide.guard == 0xA5A5A5A5A5A5A5A5);
    CHECK(ws_stats(NULL, 0) == WS_OK && ws_stats(NULL, 8) == WS_NULL);
    printf("%s\n", ws_version());
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "null") == 0) {
        return (int)ws_rng_u64(NULL);
    }
    if (argc > 1 && strcmp(argv[1], "descriptors") == 0) {
        /* Not by ulimit -n 3: the loader needs a descriptor for the library. */
        struct rlimit three = {3, 3};
        CHECK(setrlimit(RLIMIT_NOFILE, &three) == 0 && dup(0) < 0);
    }
    check_fill();
    check_numbers();
    check_bad_input();
    check_identifiers();
    check_rng();
    check_stream();
    check_engine();
    return 0;
}
