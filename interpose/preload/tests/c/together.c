/* Threads whose first reads begin at the same moment. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <unistd.h>

enum { THREADS = 16 };

static atomic_int ready;

static void *draw(void *unused) {
    /* In one page, so that the read asks the kernel once whether it can be written. */
    static __thread unsigned char bytes[32] __attribute__((aligned(32)));
    ready++;
    while (ready < THREADS)
        sched_yield();
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        _exit(2);
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, draw, NULL) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
