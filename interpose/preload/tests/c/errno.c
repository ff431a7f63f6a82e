/* A read that fails inside leaves errno alone. The C library gives thread-specific keys after the 32nd their memory by
 * calloc(3), which sets errno when no memory is left. This program's calloc has none while a thread draws first. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define KEYS 40

void *__libc_calloc(size_t count, size_t bytes);

static _Thread_local bool refuses;
static _Thread_local int refused;

void *calloc(size_t count, size_t bytes)
{
    if (refuses) {
        refused++;
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(count, bytes);
}

static void *draw(void *reader)
{
    unsigned char bytes[16];
    refuses = true;
    errno = 4711;
    ssize_t got = getrandom(bytes, sizeof bytes, 0);
    int after = errno;
    refuses = false;
    if (got != sizeof bytes || refused == 0 || after != 4711) {
        printf("%s: %zd bytes, calloc refused %d times, errno %d\n", (char *)reader, got, refused, after);
        exit(1);
    }
    return NULL;
}

int main(void)
{
    for (int i = 0; i < KEYS; i++) {
        pthread_key_t key;
        if (pthread_key_create(&key, NULL) != 0)
            return 2;
    }
    draw("the first read of the process");
    pthread_t thread;
    if (pthread_create(&thread, NULL, draw, "the first read of another thread") != 0)
        return 2;
    return pthread_join(thread, NULL);
}
