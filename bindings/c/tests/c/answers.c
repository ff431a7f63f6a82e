/* The arrays that a file asks for. */
#include "check.h"
#include <inttypes.h>

static double floats[4000];
static float singles[4000];
static int64_t counts[4000];
static uint64_t places[4000];

/* Answers a line: the kind, the name, the first index, the count, the number of parameters and the parameters. Writes the
 * length of the array in bytes, and the array. */
int main(int argc, char **argv) {
    char kind[32], algorithm[32], words[12][32];
    uint32_t path[3];
    struct ws_elements name = {algorithm, 0, 0, path, 0};
    uint64_t first;
    size_t count, parameters;
    CHECK(argc == 2);
    FILE *questions = fopen(argv[1], "r");
    CHECK(questions != NULL);
    while (fscanf(questions, "%31s %31s %" SCNu64 " %" SCNu64 " %zu", kind, algorithm, &name.seed_low, &name.seed_high,
                  &name.depth) == 5) {
        CHECK(fscanf(questions, "%" SCNu32 " %" SCNu32 " %" SCNu32, path, path + 1, path + 2) == 3);
        CHECK(fscanf(questions, "%" SCNu64 " %zu %zu", &first, &count, &parameters) == 3);
        CHECK(count <= 4000 && parameters <= 12);
        double p[12] = {0};
        int64_t integers[2] = {0};
        for (size_t i = 0; i < parameters; i++) {
            CHECK(fscanf(questions, "%31s", words[i]) == 1);
            p[i] = strtod(words[i], NULL);
            if (i < 2) {
                integers[i] = strtoll(words[i], NULL, 10);
            }
        }
        int64_t low = integers[0], high = integers[1];
        size_t k = (size_t)low;
        for (uint64_t i = 0; i < count; i++) {
            places[i] = i;
        }
        const void *out = NULL;
        uint64_t length = 0;
        int error = -1;
#define ANSWER(word, width, place, call)              \
    if (strcmp(kind, word) == 0) {                    \
        out = place;                                  \
        length = count * (width) * sizeof *place;     \
        CHECK(length <= sizeof place);                \
        error = ws_elements_##call;                   \
    }
#define ARRAY(place) &name, first, place, count
        ANSWER("uniform-f64", 1, floats, uniform(ARRAY(floats), 0, 1))
        ANSWER("normal-f64", 1, floats, normal(ARRAY(floats), 0, 1))
        ANSWER("exponential-f64", 1, floats, exponential(ARRAY(floats), 1))
        ANSWER("uniform-f32", 1, singles, uniform_f32(ARRAY(singles), 0, 1))
        ANSWER("normal-f32", 1, singles, normal_f32(ARRAY(singles), 0, 1))
        ANSWER("exponential-f32", 1, singles, exponential_f32(ARRAY(singles), 1))
        ANSWER("truncated", 1, floats, truncated_normal(ARRAY(floats), p[0], p[1], p[2], p[3]))
        ANSWER("lognormal", 1, floats, lognormal(ARRAY(floats), p[0], p[1]))
        ANSWER("gamma", 1, floats, gamma(ARRAY(floats), p[0], p[1]))
        ANSWER("beta", 1, floats, beta(ARRAY(floats), p[0], p[1]))
        ANSWER("t", 1, floats, student_t(ARRAY(floats), p[0]))
        ANSWER("weibull", 1, floats, weibull(ARRAY(floats), p[0]))
        ANSWER("cauchy", 1, floats, cauchy(ARRAY(floats)))
        ANSWER("binomial", 1, counts, binomial(ARRAY(counts), low, p[1]))
        ANSWER("poisson", 1, counts, poisson(ARRAY(counts), p[0]))
        ANSWER("geometric", 1, counts, geometric(ARRAY(counts), p[0]))
        ANSWER("integers", 1, counts, integers(ARRAY(counts), low, high))
        ANSWER("permutation", 1, places, permutation(ARRAY(places), strtoull(words[0], NULL, 10)))
        ANSWER("choice", 1, counts, choice(ARRAY(counts), p, parameters))
        ANSWER("subsets", (size_t)high, counts, subsets(ARRAY(counts), (uint64_t)low, (size_t)high))
        ANSWER("dirichlet", parameters, floats, dirichlet(ARRAY(floats), p, parameters))
        ANSWER("multinomial", parameters - 1, counts, multinomial(ARRAY(counts), low, p + 1, parameters - 1))
        ANSWER("multivariate", 3, floats, multivariate_normal(ARRAY(floats), p, p + 3, 3))
        ANSWER("sphere", k, floats, sphere(ARRAY(floats), k))
        ANSWER("sobol", k, floats, sobol(ARRAY(floats), k))
        ANSWER("halton", k, floats, halton(ARRAY(floats), k))
        ANSWER("shuffle", 1, places, shuffle(&name, places, count, sizeof *places))
        CHECK(error == WS_OK && fwrite(&length, sizeof length, 1, stdout) == 1);
        CHECK(fwrite(out, 1, length, stdout) == length);
    }
    CHECK(feof(questions));
    fclose(questions);
    return 0;
}
