/* Programs that close what is not theirs, that share their memory, and that have little stack: the first argument names one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition))                                                     \
            _exit(__LINE__ % 200 + 1);                                        \
    } while (0)

static void draw(void) {
    static __thread unsigned char last[32];
    unsigned char bytes[6000];
    CHECK(getrandom(bytes, 32, 0) == 32 && memcmp(bytes, last, 32) != 0);
    memcpy(last, bytes, 32);
    CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes && getentropy(bytes, 256) == 0);
}

static void close_all(void) {
    for (int file = 0; file < 1024; file++)
        close(file);
}

/* As daemons do. Files that the program opens then have the numbers from 0 on, and stay what they are. */
static void closes(void) {
    close_all();
    draw();
    close_all();
    int ends[2];
    CHECK(pipe(ends) == 0 && ends[0] == 0 && ends[1] == 1);
    for (int round = 0; round < 50; round++) {
        draw();
        usleep(5000);
    }
    struct stat status;
    CHECK(fstat(0, &status) == 0 && S_ISFIFO(status.st_mode) && fstat(1, &status) == 0 && S_ISFIFO(status.st_mode));
    CHECK(fcntl(2, F_GETFD) == -1);
    pid_t child = fork();
    if (child == 0) {
        close_all();
        draw();
        _exit(0);
    }
    int left;
    CHECK(waitpid(child, &left, 0) == child && left == 0);
    CHECK(fcntl(2, F_GETFD) == -1);
}

/* The child draws while the parent stands still. */
static void vforks(void) {
    for (int round = 0; round < 20; round++) {
        if (round > 0)
            draw();
        pid_t child = vfork();
        if (child == 0) {
            unsigned char bytes[16];
            _exit(getrandom(bytes, sizeof bytes, 0) != sizeof bytes);
        }
        int status;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
}

static void *draw_once(void *unused) {
    unsigned char bytes[16];
    CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
    return unused;
}

/* A thread with the least stack that glibc gives makes the first read of the process. */
static void small_stack(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0);
    long least = sysconf(_SC_THREAD_STACK_MIN);
    size_t bytes = least > 16384 ? (size_t)least : 16384;
    CHECK(pthread_attr_setstacksize(&attributes, 16384) == 0 || pthread_attr_setstacksize(&attributes, bytes) == 0);
    CHECK(pthread_create(&thread, &attributes, draw_once, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

/* In a system without files. */
static void draws(void) {
    draw();
    int file = open("/dev/urandom", O_RDONLY);
    CHECK(file == -1);
    draw();
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(void);
    } steps[] = {{"closes", closes}, {"vforks", vforks}, {"small_stack", small_stack}, {"draws", draws}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (count > 1 && strcmp(words[1], steps[i].name) == 0) {
            steps[i].run();
            return 0;
        }
    }
    return 255;
}
