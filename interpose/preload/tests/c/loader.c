/* A module whose constructor waits for a thread, while the loader's lock is held: functions that the library replaces must not
 * ask for that lock when they are first called. With no word it is the program, which loads the module that is named. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef MODULE

static void *call_all(void *unused) {
    srand(1);
    srandom(1);
    srand48(1);
    unsigned short state[7] = {1, 2, 3};
    seed48(state);
    FILE *file = fopen("/dev/null", "r");
    if (rand() < 0 || random() < 0 || drand48() < 0 || lrand48() < 0 || file == NULL)
        _exit(2);
    fclose(file);
    (void)mrand48();
    return unused;
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_all, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(3);
}

#else

int main(int count, char **words) {
    /* A deadlock ends by this. */
    alarm(100);
    return count == 2 && dlopen(words[1], RTLD_NOW) != NULL ? 0 : 1;
}

#endif
