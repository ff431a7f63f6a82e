/* Programs that close what is not theirs, that share their memory, that have little stack, and whose threads start at once: the
 * first argument names one. `stack BYTES draw|nothing` prints how much of a signal stack was used. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
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

enum { THREADS = 16 };

static atomic_int ready;

static void *draw_at_once(void *unused) {
    /* In one page, so that the read asks the kernel once whether it can be written. */
    static __thread unsigned char bytes[32] __attribute__((aligned(32)));
    ready++;
    while (ready < THREADS)
        sched_yield();
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        _exit(2);
    return unused;
}

/* Threads whose first reads begin at the same moment. */
static void together(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, draw_at_once, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* A process and its child set their user: glibc sends each thread of a process a signal for it, and waits for the answers.
 * Ends by SIGALRM if a thread does not answer within a minute. */
static int change_user(void) {
    alarm(60);
    return setgid(getgid()) != 0 || setuid(getuid()) != 0;
}

static void set_user(void) {
    CHECK(!change_user());
    pid_t child = fork();
    if (child == 0)
        _exit(change_user());
    int status;
    CHECK(child >= 0 && waitpid(child, &status, 0) == child && status == 0);
}

enum { PAINT = 0xA7, PAGE = 4096 };

static int is_drawn, handled;
/* In several pages, so that bytes are made straight there too. */
static unsigned char bytes[3 * PAGE];

static void handle(int signal) {
    (void)signal;
    if (is_drawn && (getrandom(bytes, 16, 0) != 16 || getrandom(bytes + 16, 9000, 0) != 9000))
        _exit(3);
    handled = 1;
}

/* How much of a signal stack the first read of a process takes. Prints the bytes that a handler on a stack of this size used,
 * the frame of the signal too; below and above the stack nothing is mapped. */
static int stack(size_t size) {
    unsigned char *start = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED || mprotect(start += PAGE, size, PROT_READ | PROT_WRITE) != 0)
        return 4;
    memset(start, PAINT, size);
    /* The C library refuses a stack that the kernel takes. */
    stack_t given = {.ss_sp = start, .ss_size = size};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    if (syscall(SYS_sigaltstack, &given, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0 || raise(SIGUSR1) != 0)
        return 5;
    size_t unused = 0;
    while (unused < size && start[unused] == PAINT)
        unused++;
    printf("%zu\n", size - unused);
    return !handled;
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(void);
    } steps[] = {{"closes", closes}, {"vforks", vforks}, {"small_stack", small_stack}, {"draws", draws},
                 {"together", together}, {"set_user", set_user}};
    if (count == 4 && strcmp(words[1], "stack") == 0) {
        is_drawn = strcmp(words[3], "draw") == 0;
        return stack((size_t)atol(words[2]));
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (count > 1 && strcmp(words[1], steps[i].name) == 0) {
            steps[i].run();
            return 0;
        }
    }
    return 255;
}
