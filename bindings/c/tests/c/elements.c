/* Arrays of distributions: what they refuse, and how they are cut and scaled. */
#include "check.h"
#include <math.h>

static const struct ws_elements NAME = {"chacha8", 2026, 0, NULL, 0};
static double floats[4000];
static float singles[4000];
static int64_t counts[4000];
static uint64_t places[4000];
static const double MEAN[] = {1, 2}, COVARIANCE[] = {1, 0.5, 0.5, 4}, SHARES[] = {0.25, 0.75};

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
        REFUSED(exponential_f32, singles, x);
        REFUSED(normal, floats, 0, x);
        REFUSED(normal_f32, singles, 0, x);
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
        const double numbers[] = {0.5, x, 0.25, 1};
        REFUSED(choice, counts, numbers, 3);
        REFUSED(dirichlet, floats, numbers, 3);
        REFUSED(multinomial, counts, 9, numbers, 3);
    }
    for (int i = 0; i < 3; i++) {
        double x = bad[i];
        REFUSED(uniform, floats, x, 1);
        REFUSED(uniform, floats, 0, x);
        REFUSED(uniform_f32, singles, x, 1);
        REFUSED(uniform_f32, singles, 0, x);
        REFUSED(normal, floats, x, 1);
        REFUSED(normal_f32, singles, x, 1);
        REFUSED(lognormal, floats, x, 1);
        REFUSED(truncated_normal, floats, x, 1, -1, 1);
        const double mean[] = {0, x}, variance[] = {1, x, x, 4};
        REFUSED(multivariate_normal, floats, mean, COVARIANCE, 2);
        REFUSED(multivariate_normal, floats, MEAN, variance, 2);
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
    /* What a double can hold and a float cannot. */
    REFUSED(uniform_f32, singles, -3e38, 3e38);
    REFUSED(uniform_f32, singles, 1, 0);
    REFUSED(normal_f32, singles, 1e39, 1);
    REFUSED(normal_f32, singles, 0, 1e39);
    REFUSED(normal_f32, singles, 0, -1e-60);
    REFUSED(exponential_f32, singles, 1e39);
}

static void check_parameters_of_rows(void) {
    const double zeros[] = {0, 0}, halves[] = {0.75, 0.5, 0.25}, uneven[] = {1, 0.5, 0.25, 4}, negative[] = {1, 2, 2, 1};
    REFUSED(choice, counts, zeros, 2);
    REFUSED(choice, counts, NULL, 0);
    REFUSED(subsets, counts, 3, 4);
    REFUSED(subsets, counts, 3, 0);
    REFUSED(subsets, counts, 0, 0);
    REFUSED(subsets, counts, (uint64_t)-1, 1);
    REFUSED(dirichlet, floats, zeros, 2);
    REFUSED(dirichlet, floats, NULL, 0);
    REFUSED(multinomial, counts, -1, halves + 1, 2);
    REFUSED(multinomial, counts, 9, halves, 3);
    REFUSED(multinomial, counts, 9, NULL, 0);
    REFUSED(multivariate_normal, floats, NULL, NULL, 0);
    REFUSED(multivariate_normal, floats, MEAN, uneven, 2);
    REFUSED(multivariate_normal, floats, MEAN, negative, 2);
    REFUSED(sphere, floats, 0);
    REFUSED(sobol, floats, 0);
    REFUSED(sobol, floats, 257);
    REFUSED(halton, floats, 0);
    REFUSED(halton, floats, 257);
    CHECK(ws_elements_choice(&NAME, 0, counts, 1, NULL, 2) == WS_NULL);
    CHECK(ws_elements_dirichlet(&NAME, 0, floats, 1, NULL, 2) == WS_NULL);
    CHECK(ws_elements_multinomial(&NAME, 0, counts, 1, 9, NULL, 2) == WS_NULL);
    CHECK(ws_elements_multivariate_normal(&NAME, 0, floats, 1, NULL, COVARIANCE, 2) == WS_NULL);
    CHECK(ws_elements_multivariate_normal(&NAME, 0, floats, 1, MEAN, NULL, 2) == WS_NULL);
    /* Vectors that no memory has: none of their numbers is read. */
    const size_t many = PTRDIFF_MAX / 8 + 1, square = (size_t)1 << 32;
    CHECK(ws_elements_choice(&NAME, 0, counts, 1, halves, many) == WS_TOO_LONG);
    CHECK(ws_elements_dirichlet(&NAME, 0, floats, 0, halves, many) == WS_TOO_LONG);
    CHECK(ws_elements_multinomial(&NAME, 0, counts, 0, 9, halves, many) == WS_TOO_LONG);
    CHECK(ws_elements_multivariate_normal(&NAME, 0, floats, 0, MEAN, COVARIANCE, square) == WS_TOO_LONG);
}

/* The fewest numbers that no memory has. */
#define ABOVE(out) (PTRDIFF_MAX / sizeof *out + 1)

/* Expects the errors that do not depend on parameters, and numbers at the index last, behind which no two have room. */
#define CHECK_ERRORS_TO(last, kind, out, ...)                                                        \
    do {                                                                                             \
        struct ws_elements other = {"xoshiro256++", 1, 0, NULL, 0};                                  \
        CHECK(ws_elements_##kind(&other, 0, out, 1, ##__VA_ARGS__) == WS_NO_ALGORITHM);              \
        other.algorithm = NULL;                                                                      \
        CHECK(ws_elements_##kind(&other, 0, out, 1, ##__VA_ARGS__) == WS_NULL);                      \
        CHECK(ws_elements_##kind(NULL, 0, out, 1, ##__VA_ARGS__) == WS_NULL);                        \
        CHECK(ws_elements_##kind(&NAME, 0, NULL, 1, ##__VA_ARGS__) == WS_NULL);                      \
        CHECK(ws_elements_##kind(&NAME, 0, NULL, 0, ##__VA_ARGS__) == WS_OK);                        \
        CHECK(ws_elements_##kind(&NAME, 0, out, ABOVE(out), ##__VA_ARGS__) == WS_TOO_LONG);          \
        memset(out, 0x5a, 2 * sizeof *out);                                                          \
        CHECK(ws_elements_##kind(&NAME, last + 1, out, 2, ##__VA_ARGS__) == WS_TOO_LONG);            \
        CHECK(memcmp(out, out + 1, sizeof *out) == 0 && *(unsigned char *)out == 0x5a);              \
        CHECK(ws_elements_##kind(&NAME, last, out, 1, ##__VA_ARGS__) == WS_OK);                      \
        CHECK(memcmp(out, out + 1, sizeof *out) != 0);                                               \
    } while (0)

#define CHECK_ERRORS(kind, out, ...) CHECK_ERRORS_TO(UINT64_MAX - 1, kind, out, ##__VA_ARGS__)

/* The last row of k numbers that all have an index below 2^64. */
#define LAST_ROW(k) ((UINT64_MAX - k + 1) / k)

/* The same for rows of k numbers. */
#define CHECK_ERRORS_OF_ROWS(k, kind, out, ...)                                                   \
    do {                                                                                          \
        CHECK_ERRORS_TO(LAST_ROW(k), kind, out, ##__VA_ARGS__);                                   \
        memset(out, 0x5a, sizeof *out);                                                           \
        CHECK(ws_elements_##kind(&NAME, LAST_ROW(k), out, 2, ##__VA_ARGS__) == WS_TOO_LONG);      \
        CHECK(ws_elements_##kind(&NAME, 0, out, SIZE_MAX / k + 1, ##__VA_ARGS__) == WS_TOO_LONG); \
        CHECK(memcmp(out, "\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a", sizeof *out) == 0);                 \
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
    CHECK_ERRORS(uniform_f32, singles, 0, 1);
    CHECK_ERRORS(normal_f32, singles, 0, 1);
    CHECK_ERRORS(exponential_f32, singles, 1);
    CHECK_ERRORS(choice, counts, MEAN, 2);
    CHECK_ERRORS_OF_ROWS(3, subsets, counts, 100, 3);
    CHECK_ERRORS_OF_ROWS(2, dirichlet, floats, MEAN, 2);
    CHECK_ERRORS_OF_ROWS(2, multinomial, counts, 1000000, SHARES, 2);
    CHECK_ERRORS_OF_ROWS(2, multivariate_normal, floats, MEAN, COVARIANCE, 2);
    CHECK_ERRORS_OF_ROWS(3, sphere, floats, 3);
    CHECK_ERRORS(sobol, floats, 3);
    CHECK_ERRORS(halton, floats, 3);
    CHECK(ws_elements_sobol(&NAME, 0, floats, SIZE_MAX / 3 + 1, 3) == WS_TOO_LONG);
    CHECK(ws_elements_halton(&NAME, 0, floats, SIZE_MAX / 3 + 1, 3) == WS_TOO_LONG);
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

/* Parameters are rounded to float before the sum, and high - low before it is rounded. */
static void check_scales_of_floats(void) {
    static float standard[4000];
    CHECK(ws_elements_uniform_f32(&NAME, 7, standard, 4000, 0, 1) == WS_OK);
    CHECK(ws_elements_uniform_f32(&NAME, 7, singles, 4000, 0.1, 0.7) == WS_OK);
    for (int i = 0; i < 4000; i++) {
        CHECK(singles[i] == (float)0.1 + (float)(0.7 - 0.1) * standard[i] && standard[i] >= 0 && standard[i] < 1);
    }
    CHECK(ws_elements_normal_f32(&NAME, 7, standard, 4000, 0, 1) == WS_OK);
    CHECK(ws_elements_normal_f32(&NAME, 7, singles, 4000, 0.1, 0.3) == WS_OK);
    CHECK(ws_elements_normal(&NAME, 7, floats, 4000, 0, 1) == WS_OK);
    for (int i = 0; i < 4000; i++) {
        CHECK(singles[i] == (float)0.1 + (float)0.3 * standard[i] && standard[i] == (float)floats[i]);
    }
    CHECK(ws_elements_exponential_f32(&NAME, 7, standard, 4000, 1) == WS_OK);
    CHECK(ws_elements_exponential_f32(&NAME, 7, singles, 4000, 0.1) == WS_OK);
    CHECK(ws_elements_exponential(&NAME, 7, floats, 4000, 1) == WS_OK);
    for (int i = 0; i < 4000; i++) {
        CHECK(singles[i] == (float)0.1 * standard[i] && standard[i] == (float)floats[i]);
    }
}

/* Expects that rows 5 to 7 are these rows of an array of ten rows of k numbers, and that nothing behind them is written. */
#define CHECK_ROWS(k, kind, out, ...)                                                  \
    do {                                                                               \
        CHECK(ws_elements_##kind(&NAME, 0, out, 10, __VA_ARGS__) == WS_OK);            \
        memset(out + 10 * k, 0x5a, 4 * k * sizeof *out);                               \
        CHECK(ws_elements_##kind(&NAME, 5, out + 10 * k, 3, __VA_ARGS__) == WS_OK);    \
        CHECK(memcmp(out + 5 * k, out + 10 * k, 3 * k * sizeof *out) == 0);            \
        CHECK(memcmp(out + 13 * k, "\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a", sizeof *out) == 0); \
        CHECK(memcmp(out, out + 5 * k, 3 * k * sizeof *out) != 0);                     \
    } while (0)

static void check_rows(void) {
    CHECK_ROWS(1, choice, counts, MEAN, 2);
    CHECK_ROWS(7, subsets, counts, UINT64_C(1) << 40, 7);
    CHECK_ROWS(2, dirichlet, floats, MEAN, 2);
    CHECK_ROWS(2, multinomial, counts, 1000, SHARES, 2);
    CHECK_ROWS(2, multivariate_normal, floats, MEAN, COVARIANCE, 2);
    CHECK_ROWS(3, sphere, floats, 3);
    CHECK_ROWS(256, sobol, floats, 256);
    CHECK_ROWS(256, halton, floats, 256);
}

/* Items of any size take the order of numbers, which the known answers have. */
static void check_shuffles(void) {
    const size_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 24, 101};
    static unsigned char items[300 * 101 + 1];
    for (int i = 0; i < 9; i++) {
        size_t size = sizes[i], count = size == 1 ? 200 : 300;
        for (size_t item = 0; item < count; item++) {
            places[item] = item;
            memset(items + item * size, (int)(item * 7 % 251), size);
            items[item * size] = (unsigned char)item;
        }
        items[count * size] = 0x5a;
        CHECK(ws_elements_shuffle(&NAME, places, count, sizeof *places) == WS_OK);
        CHECK(ws_elements_shuffle(&NAME, items, count, size) == WS_OK);
        for (size_t place = 0; place < count; place++) {
            const unsigned char *item = items + place * size;
            CHECK(item[0] == (unsigned char)places[place]);
            for (size_t byte = 1; byte < size; byte++) {
                CHECK(item[byte] == places[place] * 7 % 251);
            }
        }
        CHECK(items[count * size] == 0x5a);
    }
    struct ws_elements other = {"xoshiro256++", 1, 0, NULL, 0};
    memcpy(counts, places, sizeof places);
    CHECK(ws_elements_shuffle(&other, places, 300, 8) == WS_NO_ALGORITHM);
    other.algorithm = NULL;
    CHECK(ws_elements_shuffle(&other, places, 300, 8) == WS_NULL);
    CHECK(ws_elements_shuffle(NULL, places, 300, 8) == WS_NULL);
    CHECK(ws_elements_shuffle(&NAME, NULL, 300, 8) == WS_NULL);
    CHECK(ws_elements_shuffle(&NAME, places, 300, 0) == WS_PARAMETER);
    CHECK(ws_elements_shuffle(&NAME, places, ABOVE(places), 8) == WS_TOO_LONG);
    CHECK(ws_elements_shuffle(&NAME, places, SIZE_MAX / 8 + 2, 8) == WS_TOO_LONG);
    CHECK(memcmp(counts, places, sizeof places) == 0);
    CHECK(ws_elements_shuffle(&NAME, NULL, 0, 8) == WS_OK);
}

int main(void) {
    check_parameters();
    check_parameters_of_rows();
    check_errors();
    check_scales_and_pieces();
    check_scales_of_floats();
    check_rows();
    check_shuffles();
    return 0;
}
