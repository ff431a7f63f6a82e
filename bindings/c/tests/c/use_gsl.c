/* Both generators of the GNU Scientific Library. */
#include "check.h"
#include <gsl/gsl_randist.h>
#include <wellspring-gsl.h>

int main(void) {
    gsl_rng *secure = gsl_rng_alloc(ws_gsl_secure);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        sum += gsl_ran_gaussian(secure, 1.0);
    }
    /* The mean of 100000 has a standard deviation of 0.0032. */
    CHECK(sum / 100000 < 0.05 && sum / 100000 > -0.05);
    CHECK(gsl_rng_uniform_int(secure, 6) < 6);
    gsl_rng *stream = gsl_rng_alloc(ws_gsl_stream);
    gsl_rng_set(stream, 2026);
    ws_stream *same;
    CHECK(ws_stream_new(&same, "chacha8", 2026, 0, NULL, 0) == WS_OK);
    for (int i = 0; i < 50; i++) {
        CHECK(gsl_rng_get(stream) == ws_stream_u32(same));
    }
    gsl_rng *copy = gsl_rng_clone(stream);
    for (int i = 0; i < 50; i++) {
        CHECK(gsl_rng_get(stream) == gsl_rng_get(copy));
    }
    ws_stream_free(same);
    gsl_rng_free(copy);
    gsl_rng_free(stream);
    gsl_rng_free(secure);
    return 0;
}
