/* Every answer of getrandom and getentropy beside the kernel's own; with the word `errno`, errno after a first read. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);           \
            _exit(1);                                                         \
        }                                                                     \
    } while (0)

/* The kernel, without a function that could be ours. */
static long kernel(void *start, size_t length, unsigned flags) {
    long result;
#if defined(__x86_64__)
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_getrandom), "D"(start), "S"(length), "d"((long)flags)
                     : "rcx", "r11", "memory");
#else
    register long number __asm__("x8") = SYS_getrandom;
    register long first __asm__("x0") = (long)start;
    register long second __asm__("x1") = (long)length;
    register long third __asm__("x2") = flags;
    __asm__ volatile("svc 0" : "+r"(first) : "r"(number), "r"(second), "r"(third) : "memory");
    result = first;
#endif
    return result;
}

static void compare(void *start, size_t length, unsigned flags) {
    long expected = kernel(start, length, flags);
    errno = 4711;
    ssize_t mine = getrandom(start, length, flags);
    long got = mine >= 0 ? mine : -errno;
    if (got != expected || (mine >= 0 && errno != 4711)) {
        fprintf(stderr, "getrandom(%p, %zu, %u): %ld, the kernel says %ld\n", start, length, flags,
                got, expected);
        _exit(1);
    }
}

/* A read that fails inside leaves errno alone. The C library gives thread-specific keys after the 32nd their memory by
 * calloc(3), which sets errno when no memory is left. This program's calloc has none while a thread draws first. */
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

static int keeps_errno(void)
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

int main(int count, char **words) {
    if (count == 2 && strcmp(words[1], "errno") == 0)
        return keeps_errno();
    long page = sysconf(_SC_PAGESIZE);
    /* Two pages to write, one to read, one for nothing: where no page is, the library may map one. */
    unsigned char *pages = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK(mprotect(pages + 2 * page, page, PROT_READ) == 0 && mprotect(pages + 3 * page, page, PROT_NONE) == 0);
    void *starts[] = {
        NULL,
        (void *)1,
        (void *)4095,
        pages,
        pages + page - 1,
        pages + 2 * page - 16,
        pages + 2 * page,
        pages + 3 * page,
        (void *)(UINTPTR_MAX - 100),
        (void *)0xffff800000000000,
        (void *)0x7fffffffe000,
    };
    size_t lengths[] = {0, 1, 15, 16, 17, 255, 256, 257, 4096, 8192};
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            for (unsigned flags = 0; flags < 16; flags++) {
                compare(starts[s], lengths[l], flags);
            }
            compare(starts[s], lengths[l], 0x80000000);
        }
        /* The kernel is asked for bad pointers only: it would try to write 2 GiB elsewhere. */
        if (starts[s] < (void *)4096) {
            compare(starts[s], SIZE_MAX, 0);
            compare(starts[s], (size_t)INT_MAX + 1, 0);
        }
    }
    /* Bytes beside the buffer stay, and each byte of it is drawn. */
    unsigned char seen[300] = {0};
    for (int round = 0; round < 40; round++) {
        memset(pages, 0xA5, 302);
        CHECK(getrandom(pages + 1, 300, round % 2 ? GRND_NONBLOCK : 0) == 300);
        CHECK(pages[0] == 0xA5 && pages[301] == 0xA5);
        for (int i = 0; i < 300; i++) {
            seen[i] |= pages[1 + i] ^ 0xA5;
        }
    }
    for (int i = 0; i < 300; i++) {
        CHECK(seen[i] != 0);
    }
    /* getentropy, by its manual. */
    errno = 4711;
    CHECK(getentropy(pages, 256) == 0 && getentropy(pages, 0) == 0 && errno == 4711);
    CHECK(getentropy(pages, 257) == -1 && errno == EIO);
    errno = 0;
    void *volatile none = NULL;
    CHECK(getentropy(none, 16) == -1 && errno == EFAULT);
    errno = 0;
    CHECK(getentropy(pages + 2 * page - 8, 16) == -1 && errno == EFAULT);
    return 0;
}
