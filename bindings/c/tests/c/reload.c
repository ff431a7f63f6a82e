/* dlopen and dlclose in a loop while threads draw, and threads that end after the last dlclose:
 * reload LIBRARY FUNCTION, where FUNCTION has the arguments of ws_fill. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, LOADS = 500 };

static atomic_bool is_over;
static const char *library, *function;

static void require(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "%s: %s\n", what, dlerror());
        exit(1);
    }
}

static void *draw(void *unused) {
    void *handle = dlopen(library, RTLD_NOW);
    require(handle != NULL, "dlopen");
    void (*fill)(void *, size_t) = (void (*)(void *, size_t))dlsym(handle, function);
    require(fill != NULL, function);
    do {
        unsigned char first[16] = {0}, second[16] = {0};
        fill(first, sizeof first);
        fill(second, sizeof second);
        require(memcmp(first, second, sizeof first) != 0, "the same bytes twice");
    } while (!is_over);
    dlclose(handle);
    return unused;
}

int main(int argc, char **argv) {
    require(argc == 3, "LIBRARY FUNCTION");
    library = argv[1];
    function = argv[2];
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
