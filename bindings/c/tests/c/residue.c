/* Searches this process for what its threads drew: while they live, after they ended, in a child, after dlclose. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, DRAWS = 64, WORDS = 4, VALUES = THREADS * DRAWS * WORDS, WINDOW = 1 << 16 };

/* Values are kept XORed with this, so that the search does not find the table. */
static const uint64_t mask = 0x5bd1e99597f4a7c1;
static uint64_t masked[VALUES];
static unsigned char filter[1 << 22];
static unsigned char window[WINDOW];
static int (*fill)(void *, size_t);
static volatile uint64_t planted;
static pthread_barrier_t drawn, searched;

static void require(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        _exit(1);
    }
}

static void *draw(void *place) {
    uint64_t *values = place;
    for (int i = 0; i < DRAWS; i++) {
        volatile uint64_t words[WORDS];
        require(fill((void *)(uintptr_t)words, sizeof words) == 0, "fill");
        for (int word = 0; word < WORDS; word++) {
            values[i * WORDS + word] = words[word] ^ mask;
            words[word] = 0;
        }
    }
    pthread_barrier_wait(&drawn);
    pthread_barrier_wait(&searched);
    return NULL;
}

static int is_value(uint64_t word) {
    uint64_t wanted = word ^ mask;
    if (filter[wanted % sizeof filter] == 0) {
        return 0;
    }
    for (int i = 0; i < VALUES; i++) {
        if (masked[i] == wanted) {
            return 1;
        }
    }
    return 0;
}

/* The number of places at which a value is found, in all that this process can write. */
static int search(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    int memory = open("/proc/self/mem", O_RDONLY);
    require(maps != NULL && memory >= 0, "/proc");
    int found = 0;
    char line[512];
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, end;
        char access[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &end, access) != 3 || strncmp(access, "rw", 2) != 0) {
            continue;
        }
        for (unsigned long at = start; at + 8 <= end;) {
            unsigned long want = end - at < WINDOW ? end - at : WINDOW;
            ssize_t got = pread(memory, window, want, (off_t)at);
            if (got < 8) {
                break;
            }
            for (long offset = 0; offset + 8 <= got; offset++) {
                uintptr_t place = at + (uintptr_t)offset;
                uint64_t word;
                memcpy(&word, window + offset, 8);
                int is_own = place + 8 > (uintptr_t)window && place < (uintptr_t)window + WINDOW;
                if (!is_own && is_value(word)) {
                    found++;
                }
            }
            at += (unsigned long)got - 7;
            if ((unsigned long)got == end - at + 7) {
                break;
            }
        }
    }
    memset(window, 0, sizeof window);
    __asm__ volatile("" : : "r"(window) : "memory");
    fclose(maps);
    close(memory);
    return found;
}

int main(int argc, char **argv) {
    require(argc == 2, "the path of the library");
    void *handle = dlopen(argv[1], RTLD_NOW);
    require(handle != NULL, "dlopen");
    fill = (int (*)(void *, size_t))(uintptr_t)dlsym(handle, "ws_fill");
    require(fill != NULL, "ws_fill");

    pthread_barrier_init(&drawn, NULL, THREADS + 1);
    pthread_barrier_init(&searched, NULL, THREADS + 1);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        require(pthread_create(&threads[i], NULL, draw, &masked[i * DRAWS * WORDS]) == 0, "pthread_create");
    }
    pthread_barrier_wait(&drawn);
    for (int i = 0; i < VALUES; i++) {
        filter[masked[i] % sizeof filter] = 1;
    }
    require(search() == 0, "while the threads live");
    pthread_barrier_wait(&searched);
    for (int i = 0; i < THREADS; i++) {
        require(pthread_join(threads[i], NULL) == 0, "pthread_join");
    }

    planted = masked[7] ^ mask;
    require(search() >= 1, "the search does not find what is there");
    planted = 0;
    require(search() == 0, "after the end of the threads");
    pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        require(search() == 0, "in a child");
        _exit(0);
    }
    int status;
    require(waitpid(child, &status, 0) == child && status == 0, "the child");
    require(dlclose(handle) == 0, "dlclose");
    require(search() == 0, "after dlclose");
    return 0;
}
