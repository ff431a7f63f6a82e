/* Generators of the GNU Scientific Library: gsl_rng_alloc(ws_gsl_secure) draws on the thread's tap,
 * gsl_rng_alloc(ws_gsl_stream) on the stream "chacha8" with the seed that gsl_rng_set gives.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WELLSPRING_GSL_H
#define WELLSPRING_GSL_H

#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <wellspring.h>

static void ws_gsl_no_seed(void *state, unsigned long seed) { (void)state, (void)seed; }
static unsigned long ws_gsl_get(void *state) { return (void)state, ws_u32(); }
static double ws_gsl_double(void *state) { return (void)state, ws_double(); }

/* The state holds the seed and the position, and no pointer: GSL copies it byte by byte. */
struct ws_gsl_state {
    uint64_t seed, word;
    uint32_t block[16];
};

static void ws_gsl_set(void *state, unsigned long seed) {
    struct ws_gsl_state *s = state;
    s->seed = seed;
    s->word = 0;
}

static unsigned long ws_gsl_word(void *state) {
    struct ws_gsl_state *s = state;
    if (s->word % 16 == 0) {
        ws_stream *stream;
        if (ws_stream_new(&stream, "chacha8", s->seed, 0, NULL, 0) != WS_OK ||
            ws_stream_seek(stream, 4 * s->word, 0) != WS_OK ||
            ws_stream_fill(stream, s->block, sizeof s->block) != WS_OK) {
            abort(); /* GSL has no way to say that there is no number. */
        }
        ws_stream_free(stream);
    }
    return s->block[s->word++ % 16];
}

static double ws_gsl_fraction(void *state) { return (double)ws_gsl_word(state) / 4294967296.0; }

static const gsl_rng_type ws_gsl_secure_type = {
    "wellspring", 0xffffffff, 0, 1, ws_gsl_no_seed, ws_gsl_get, ws_gsl_double,
};
static const gsl_rng_type ws_gsl_stream_type = {
    "wellspring-chacha8",  0xffffffff, 0,          sizeof(struct ws_gsl_state),
    ws_gsl_set, ws_gsl_word, ws_gsl_fraction,
};
static const gsl_rng_type *const ws_gsl_secure = &ws_gsl_secure_type;
static const gsl_rng_type *const ws_gsl_stream = &ws_gsl_stream_type;

#endif
