/* dlopen and dlclose in a loop while threads draw, and threads that end after the last dlclose. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, LOADS = 500 };

static atomic_bool is_over;
static const char *library;

static void require(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "%s: %s\n", what, dlerror());
        exit(1);
    }
}

static void *draw(void *unused) {
    void *handle = dlopen(library, RTLD_NOW);
    require(handle != NULL, "dlopen");
    uint64_t (*number)(void) = (uint64_t (*)(void))dlsym(handle, "ws_u64");
    require(number != NULL, "ws_u64");
    do {
        require(number() != number(), "the same number twice");
    } while (!is_over);
    dlclose(handle);
    return unused;
}

int main(int argc, char **argv) {
    require(argc == 2, "the path of the library");
    library = argv[1];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        require(pthread_create(&threads[i], NULL, draw, NULL) == 0, "pthread_create");
    }
    for (int i = 0; i < LOADS; i++) {
        void *handle = dlopen(library, RTLD_NOW);
        require(handle != NULL, "dlopen");
        dlclose(handle);
    }
    is_over = 1;
    for (int i = 0; i < THREADS; i++) {
        require(pthread_join(threads[i], NULL) == 0, "pthread_join");
    }
    return 0;
}
