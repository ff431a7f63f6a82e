/* Arrays of distributions: what they refuse, how they are cut, and the numbers that a file asks for. */
#include "check.h"
#include <inttypes.h>
#include <math.h>

static const struct ws_elements NAME = {"chacha8", 2026, 0, NULL, 0};
static double floats[4000];
static int64_t counts[4000];
static uint64_t places[4000];

/* Expects that a call refuses its parameters, and writes nothing. */
#define REFUSED(kind, out, ...)                                                    \
    do {                                                                           \
        memset(out, 0x5a, sizeof *out);                                            \
        CHECK(ws_elements_##kind(&NAME, 0, out, 1, __VA_ARGS__) == WS_PARAMETER);  \
        CHECK(ws_elements_##kind(&NAME, 0, NULL, 0, __VA_ARGS__) == WS_PARAMETER); \
        CHECK(memcmp(out, "\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a", sizeof *out) == 0);  \
    } while (0)

static void check_parameters(void) {
    const double bad[] = {NAN, -INFINITY, INFINITY, -1};
    for (int i = 0; i < 4; i++) {
        double x = bad[i];
        REFUSED(exponential, floats, x);
        REFUSED(normal, floats, 0, x);
        REFUSED(truncated_normal, floats, 0, x, -1, 1);
        REFUSED(lognormal, floats, 0, x);
        REFUSED(gamma, floats, x, 1);
        REFUSED(gamma, floats, 1, x);
        REFUSED(chisquare, floats, x);
        REFUSED(beta, floats, x, 1);
        REFUSED(beta, floats, 1, x);
        REFUSED(student_t, floats, x);
        REFUSED(weibull, floats, x);
        REFUSED(binomial, counts, 3, x);
        REFUSED(poisson, counts, x);
        REFUSED(geometric, counts, x);
    }
    for (int i = 0; i < 3; i++) {
        double x = bad[i];
        REFUSED(uniform, floats, x, 1);
        REFUSED(uniform, floats, 0, x);
        REFUSED(normal, floats, x, 1);
        REFUSED(lognormal, floats, x, 1);
        REFUSED(truncated_normal, floats, x, 1, -1, 1);
    }
    REFUSED(uniform, floats, 1, 0);
    REFUSED(uniform, floats, -1e308, 1e308);
    REFUSED(truncated_normal, floats, 0, 1, 1, 1);
    REFUSED(truncated_normal, floats, 0, 1, NAN, 1);
    REFUSED(chisquare, floats, 0);
    REFUSED(beta, floats, 0, 1);
    REFUSED(student_t, floats, 0);
    REFUSED(binomial, counts, -1, 0.5);
    REFUSED(binomial, counts, 1, 1.5);
    REFUSED(geometric, counts, 0);
    REFUSED(geometric, counts, 1.5);
    REFUSED(poisson, counts, 1e19);
    REFUSED(integers, counts, 1, 0);
}

/* Expects the errors that do not depend on parameters, and numbers at the last index. */
#define CHECK_ERRORS(kind, out, ...)                                                                 \
    do {                                                                                             \
        struct ws_elements other = {"xoshiro256++", 1, 0, NULL, 0};                                  \
        CHECK(ws_elements_##kind(&other, 0, out, 1, ##__VA_ARGS__) == WS_NO_ALGORITHM);              \
        other.algorithm = NULL;                                                                      \
        CHECK(ws_elements_##kind(&other, 0, out, 1, ##__VA_ARGS__) == WS_NULL);                      \
        CHECK(ws_elements_##kind(NULL, 0, out, 1, ##__VA_ARGS__) == WS_NULL);                        \
        CHECK(ws_elements_##kind(&NAME, 0, NULL, 1, ##__VA_ARGS__) == WS_NULL);                      \
        CHECK(ws_elements_##kind(&NAME, 0, NULL, 0, ##__VA_ARGS__) == WS_OK);                        \
        CHECK(ws_elements_##kind(&NAME, 0, out, PTRDIFF_MAX / 8 + 1, ##__VA_ARGS__) == WS_TOO_LONG); \
        memset(out, 0x5a, 2 * sizeof *out);                                                          \
        CHECK(ws_elements_##kind(&NAME, UINT64_MAX, out, 2, ##__VA_ARGS__) == WS_TOO_LONG);          \
        CHECK(memcmp(out, out + 1, sizeof *out) == 0 && *(unsigned char *)out == 0x5a);              \
        CHECK(ws_elements_##kind(&NAME, UINT64_MAX - 1, out, 1, ##__VA_ARGS__) == WS_OK);            \
        CHECK(memcmp(out, out + 1, sizeof *out) != 0);                                               \
    } while (0)

static void check_errors(void) {
    CHECK_ERRORS(uniform, floats, 0, 1);
    CHECK_ERRORS(normal, floats, 0, 1);
    CHECK_ERRORS(exponential, floats, 1);
    CHECK_ERRORS(truncated_normal, floats, 0, 1, 30, INFINITY);
    CHECK_ERRORS(lognormal, floats, 0, 1);
    CHECK_ERRORS(gamma, floats, 0.5, 1);
    CHECK_ERRORS(chisquare, floats, 3);
    CHECK_ERRORS(beta, floats, 1e-3, 1e-3);
    CHECK_ERRORS(student_t, floats, 3);
    CHECK_ERRORS(weibull, floats, 0.01);
    CHECK_ERRORS(cauchy, floats);
    CHECK_ERRORS(binomial, counts, INT64_MAX, 0.5);
    CHECK_ERRORS(poisson, counts, 9e18);
    CHECK_ERRORS(geometric, counts, 1e-300);
    CHECK_ERRORS(integers, counts, INT64_MIN, INT64_MAX);
    CHECK_ERRORS(permutation, places, UINT64_MAX);
    CHECK(ws_elements_permutation(&NAME, 9, places, 2, 10) == WS_TOO_LONG);
    const struct ws_elements no_path = {"chacha8", 1, 0, NULL, 1};
    CHECK(ws_elements_cauchy(&no_path, 0, floats, 1) == WS_NULL);
}

static void check_scales_and_pieces(void) {
    static double standard[4000], part[4000];
    CHECK(ws_elements_uniform(&NAME, 7, standard, 4000, 0, 1) == WS_OK);
    CHECK(ws_elements_uniform(&NAME, 7, floats, 4000, -1, 3) == WS_OK);
    for (int i = 0; i < 4000; i++) {
        CHECK(floats[i] == -1 + 4 * standard[i] && standard[i] >= 0 && standard[i] < 1);
    }
    CHECK(ws_elements_exponential(&NAME, 7, standard, 4000, 1) == WS_OK);
    CHECK(ws_elements_exponential(&NAME, 7, floats, 4000, 3) == WS_OK);
    for (int i = 0; i < 4000; i++) {
        CHECK(floats[i] == 3 * standard[i]);
    }
    CHECK(ws_elements_normal(&NAME, 7, standard, 4000, 0, 1) == WS_OK);
    CHECK(ws_elements_normal(&NAME, 7, floats, 4000, 10, 2) == WS_OK);
    for (int i = 0; i < 4000; i++) {
        CHECK(floats[i] == 10 + 2 * standard[i]);
    }
    for (size_t start = 0; start < 4000; start += 1333) {
        size_t length = start + 1333 < 4000 ? 1333 : 4000 - start;
        CHECK(ws_elements_normal(&NAME, 7 + start, part, length, 10, 2) == WS_OK);
        CHECK(memcmp(part, floats + start, length * sizeof *part) == 0);
    }
    CHECK(ws_elements_chisquare(&NAME, 7, standard, 4000, 5) == WS_OK);
    CHECK(ws_elements_gamma(&NAME, 7, floats, 4000, 2.5, 2) == WS_OK);
    CHECK(memcmp(standard, floats, sizeof floats) == 0);
}

/* Writes the numbers that each line asks for: the kind, the name, the first index, the count, four parameters. */
static void answer(FILE *questions) {
    char kind[32], algorithm[32], words[4][32];
    uint32_t path[3];
    struct ws_elements name = {algorithm, 0, 0, path, 0};
    uint64_t first;
    size_t count;
    while (fscanf(questions, "%31s %31s %" SCNu64 " %" SCNu64 " %zu", kind, algorithm, &name.seed_low, &name.seed_high,
                  &name.depth) == 5) {
        CHECK(fscanf(questions, "%" SCNu32 " %" SCNu32 " %" SCNu32, path, path + 1, path + 2) == 3);
        CHECK(fscanf(questions, "%" SCNu64 " %zu", &first, &count) == 2 && count <= 4000);
        CHECK(fscanf(questions, "%31s %31s %31s %31s", words[0], words[1], words[2], words[3]) == 4);
        double p[4];
        for (int i = 0; i < 4; i++) {
            p[i] = strtod(words[i], NULL);
        }
        int64_t low = strtoll(words[0], NULL, 10), high = strtoll(words[1], NULL, 10);
        const void *out = floats;
        int error = -1;
#define ANSWER(word, function, place, ...)                                         \
    if (strcmp(kind, word) == 0) {                                                 \
        error = ws_elements_##function(&name, first, place, count, ##__VA_ARGS__); \
        out = place;                                                               \
    }
        ANSWER("uniform", uniform, floats, 0, 1)
        ANSWER("normal", normal, floats, 0, 1)
        ANSWER("exponential", exponential, floats, 1)
        ANSWER("truncated", truncated_normal, floats, p[0], p[1], p[2], p[3])
        ANSWER("lognormal", lognormal, floats, p[0], p[1])
        ANSWER("gamma", gamma, floats, p[0], p[1])
        ANSWER("beta", beta, floats, p[0], p[1])
        ANSWER("t", student_t, floats, p[0])
        ANSWER("weibull", weibull, floats, p[0])
        ANSWER("cauchy", cauchy, floats)
        ANSWER("binomial", binomial, counts, low, p[1])
        ANSWER("poisson", poisson, counts, p[0])
        ANSWER("geometric", geometric, counts, p[0])
        ANSWER("integers", integers, counts, low, high)
        ANSWER("permutation", permutation, places, strtoull(words[0], NULL, 10))
        CHECK(error == WS_OK && fwrite(out, 8, count, stdout) == count);
    }
    CHECK(feof(questions));
}

int main(int argc, char **argv) {
    check_parameters();
    check_errors();
    check_scales_and_pieces();
    if (argc > 1) {
        FILE *questions = fopen(argv[1], "r");
        CHECK(questions != NULL);
        answer(questions);
        fclose(questions);
    }
    return 0;
}
