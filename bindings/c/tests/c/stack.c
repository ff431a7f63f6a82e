/* How much stack the first call of a program takes, because an alternate signal stack often has 8 KiB. */
#include "check.h"
#include <pthread.h>
#include <sys/mman.h>

enum { STACK_BYTES = 1 << 20, DISTANCE_BYTES = 1 << 16, PAINT = 0xa5 };

static const char *function;
static char *base;
static char bytes[8192];

static __attribute__((noinline)) void call(void) {
    volatile char mark = 0;
    base = (char *)&mark;
    ws_rng *rng;
    struct ws_stats stats;
    if (strcmp(function, "ws_fill") == 0) {
        CHECK(ws_fill(bytes, 32) == WS_OK);
    } else if (strcmp(function, "long") == 0) {
        CHECK(ws_fill(bytes, sizeof bytes) == WS_OK);
    } else if (strcmp(function, "ws_u64") == 0) {
        CHECK(ws_u64() != ws_u64());
    } else if (strcmp(function, "ws_rng_new") == 0) {
        CHECK(ws_rng_new(&rng) == WS_OK && ws_rng_u64(rng) != 0);
    } else if (strcmp(function, "ws_stats") == 0) {
        CHECK(ws_stats(&stats, sizeof stats) == WS_OK);
    } else {
        CHECK(ws_reseed() == WS_OK);
    }
}

static void *run(void *argument) {
    /* The thread's own start and end use the part above. */
    volatile char distance[DISTANCE_BYTES];
    distance[0] = 1;
    call();
    return distance[0] == 1 ? argument : NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    function = argv[1];
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    memset(stack, PAINT, STACK_BYTES);
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, STACK_BYTES) == 0);
    CHECK(pthread_create(&thread, &attributes, run, NULL) == 0 && pthread_join(thread, NULL) == 0);
    char *lowest = stack;
    while (*lowest == (char)PAINT) {
        lowest++;
    }
    printf("%ld\n", (long)(base - lowest));
    return 0;
}
