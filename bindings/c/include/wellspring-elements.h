/* wellspring: arrays of random numbers that can be repeated. A part of wellspring.h, which includes it.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WELLSPRING_ELEMENTS_H
#define WELLSPRING_ELEMENTS_H

#ifndef WELLSPRING_H
#error "include <wellspring.h>"
#endif

/* The name of arrays: an algorithm, a seed and a path, as of ws_stream_new. */
struct ws_elements {
    /* The algorithm: "philox4x64-10", "chacha8", "chacha12", "chacha20" or "aes256-ctr". */
    const char *algorithm;
    /* The lower and the upper 64 bits of the seed. */
    uint64_t seed_low;
    uint64_t seed_high;
    /* A list of depth numbers, such as 3, 0, 17. Null with depth 0 is the root. */
    const uint32_t *path;
    size_t depth;
};

/*
 * Each function writes the elements first to first + count - 1 of an array to out. Element i depends on the name, the
 * function, its parameters and i alone: any pieces, threads and machines give the same array.
 * wellspring_pseudo::Elements in Rust and wellspring.random.Elements in Python give the same numbers. NOT fit for keys.
 *
 * The numbers of one function with two sets of parameters are related, and so are the numbers of gamma and chisquare: take
 * another path for each array of a program. An index is below 2 to the power of 64. Two threads may use one name.
 *
 * Each returns WS_OK, or WS_NULL, WS_TOO_LONG (also if the last index does not exist), WS_NO_ALGORITHM, or WS_PARAMETER
 * if NumPy refuses the parameters, or if one of them is not finite, except for the bounds of truncated_normal; after an
 * error nothing was written. out may be null if count is 0.
 */

/* ---- elements that are one number: these functions allocate nothing ---- */

/* Uniform numbers from low up to high, which only rounding can give. */
WS_CHECK int ws_elements_uniform(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, double low, double high);
/* Normal numbers. */
WS_CHECK int ws_elements_normal(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, double mean, double sigma);
/* Exponential numbers with the mean scale. */
WS_CHECK int ws_elements_exponential(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, double scale);
/*
 * The same as floats. uniform_f32 gives other numbers than uniform. normal_f32 and exponential_f32 round numbers of mean 0
 * and sigma 1, and of scale 1, to float. low and high - low, mean and sigma, scale are rounded to float too, and
 * the rest is computed in float, as in Python. WS_PARAMETER if one of them is too large for a float.
 */
WS_CHECK int ws_elements_uniform_f32(
    const struct ws_elements *name, uint64_t first, float *out, size_t count, double low, double high);
WS_CHECK int ws_elements_normal_f32(
    const struct ws_elements *name, uint64_t first, float *out, size_t count, double mean, double sigma);
WS_CHECK int ws_elements_exponential_f32(
    const struct ws_elements *name, uint64_t first, float *out, size_t count, double scale);
/* Normal numbers between low and high; either bound may be infinite. */
WS_CHECK int ws_elements_truncated_normal(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, double mean, double sigma, double low,
    double high);
/* Numbers whose logarithm is normal. */
WS_CHECK int ws_elements_lognormal(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, double mean, double sigma);
/* Gamma numbers with the mean shape times scale. */
WS_CHECK int ws_elements_gamma(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, double shape, double scale);
/* Chi-square numbers with df degrees of freedom. */
WS_CHECK int ws_elements_chisquare(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, double df);
/* Beta numbers with the mean a / (a + b). */
WS_CHECK int ws_elements_beta(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, double a, double b);
/* Student's t numbers with df degrees of freedom. */
WS_CHECK int ws_elements_student_t(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, double df);
/* Weibull numbers with the scale 1. */
WS_CHECK int ws_elements_weibull(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, double shape);
/* Cauchy numbers around 0 with the scale 1. */
WS_CHECK int ws_elements_cauchy(
    const struct ws_elements *name, uint64_t first, double *out, size_t count);
/* How many of n trials succeed, each with the probability p. */
WS_CHECK int ws_elements_binomial(
    const struct ws_elements *name, uint64_t first, int64_t *out, size_t count, int64_t n, double p);
/* Poisson numbers. */
WS_CHECK int ws_elements_poisson(
    const struct ws_elements *name, uint64_t first, int64_t *out, size_t count, double mean);
/* The trials up to the first success, including it. */
WS_CHECK int ws_elements_geometric(
    const struct ws_elements *name, uint64_t first, int64_t *out, size_t count, double p);
/* Integers from low to high, both included, each equally likely. */
WS_CHECK int ws_elements_integers(
    const struct ws_elements *name, uint64_t first, int64_t *out, size_t count, int64_t low, int64_t high);
/* The places from first on of a permutation of the numbers 0 to length - 1. */
WS_CHECK int ws_elements_permutation(
    const struct ws_elements *name, uint64_t first, uint64_t *out, size_t count, uint64_t length);

/* ---- elements that are rows of numbers, or that vectors of parameters describe ---- */

/*
 * The contract is the same. first and count count rows, and out has room for all their numbers, row after row; a count of
 * numbers above PTRDIFF_MAX / 8 gives WS_TOO_LONG. In a row of k numbers, row number * k + k - 1 is below 2 to the power of
 * 64; of sobol and halton the row number is. A vector has as many numbers as the parameter behind it says, and may be null if
 * that is 0, which gives WS_PARAMETER.
 *
 * All but sphere build a table for each call, which they allocate and free: do not call them in a signal handler, and make
 * many rows by one call. The table of a vector takes at most 120 bytes for each of its numbers, the table of a covariance 12.
 * Without memory for the table they end the process by abort(3).
 */

/*
 * Numbers from 0 to n - 1, one a row: each in proportion to its weight. Weights are not negative, and their sum is above 0 and
 * need not be 1.
 */
WS_CHECK int ws_elements_choice(
    const struct ws_elements *name, uint64_t first, int64_t *out, size_t count, const double *weights, size_t n);
/*
 * Rows of k different numbers from 0 to n - 1, in random order; with k = n they are orders of n numbers. k is from 1 to n, and
 * n is below 2 to the power of 63. The table has up to 8192 numbers; of a larger n it is a map with up to k.
 */
WS_CHECK int ws_elements_subsets(
    const struct ws_elements *name, uint64_t first, int64_t *out, size_t count, uint64_t n, size_t k);
/* Rows of k numbers from 0 to 1 whose sum is 1: number j is on average alpha[j] of the sum of alpha. */
WS_CHECK int ws_elements_dirichlet(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, const double *alpha, size_t k);
/* Rows of k counts: how often each result comes in n trials. Result j has the probability p[j], the last one what is left. */
WS_CHECK int ws_elements_multinomial(
    const struct ws_elements *name, uint64_t first, int64_t *out, size_t count, int64_t n, const double *p, size_t k);
/*
 * Rows of k normal numbers with this mean, which has k numbers, and this covariance, which has k rows of k. WS_PARAMETER if
 * the covariance is not symmetric, or has an eigenvalue below 0, within 10^-8 of its largest variance.
 */
WS_CHECK int ws_elements_multivariate_normal(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, const double *mean,
    const double *covariance, size_t k);
/* Points on the sphere with the radius 1, of so many numbers. */
WS_CHECK int ws_elements_sphere(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, size_t dimensions);
/*
 * Points of Sobol's sequence in 1 to 256 dimensions, scrambled by the name. Take 2^m points from a multiple of 2^m on. The
 * table has 512 bytes for each dimension.
 */
WS_CHECK int ws_elements_sobol(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, size_t dimensions);
/* Points of Halton's sequence in 1 to 256 dimensions, scrambled by the name. The table has up to 3 MB. */
WS_CHECK int ws_elements_halton(
    const struct ws_elements *name, uint64_t first, double *out, size_t count, size_t dimensions);

/* ---- shuffles ---- */

/*
 * Brings count items of size bytes each into a random order, in place. All orders have the same probability. The order
 * depends on the name and on count alone: shuffle in Rust and Python gives the same order. It allocates nothing, and cannot
 * be made in pieces: ws_elements_permutation can.
 *
 * Returns WS_OK, or WS_NULL, WS_TOO_LONG, WS_NO_ALGORITHM, or WS_PARAMETER if size is 0; after an error nothing was moved.
 * items may be null if count is 0.
 */
WS_CHECK int ws_elements_shuffle(const struct ws_elements *name, void *items, size_t count, size_t size);

#endif
