/* R draws on wellspring:
 *
 *     cc -shared -fPIC -o wellspring-r.so wellspring-r.c -lwellspring
 *     dyn.load("wellspring-r.so"); RNGkind("user-supplied")
 *
 * set.seed(n) takes the stream "chacha8" of seed n, which can be repeated. Without it, R seeds from the clock.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include <stdlib.h>
#include <wellspring.h>

static ws_stream *ws_r_stream;

void user_unif_init(unsigned int seed) {
    ws_stream_free(ws_r_stream);
    if (ws_stream_new(&ws_r_stream, "chacha8", seed, 0, NULL, 0) != WS_OK) {
        abort(); /* R has no way to say that there is no number. */
    }
}

double *user_unif_rand(void) {
    static double number;
    if (ws_r_stream == NULL) {
        user_unif_init(0);
    }
    /* In (0, 1), as R asks: 52 bits, and half of the last one. */
    number = ((double)(ws_stream_u64(ws_r_stream) >> 12) + 0.5) / 4503599627370496.0;
    return &number;
}
