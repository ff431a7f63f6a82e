/* Contexts in which a program may call: the first argument names one. More are in the C library's torture.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* _exit calls exit_group, which the sandbox below allows. */
#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            static const char text[] = #condition "\n";                       \
            (void)!write(2, text, sizeof text - 1);                           \
            _exit(1);                                                         \
        }                                                                     \
    } while (0)

enum { THREADS = 8, RECORDS = 40000 };

struct record {
    uint64_t word[2];
};

static struct record record(void) {
    struct record record;
    CHECK(getrandom(&record, sizeof record, 0) == sizeof record);
    return record;
}

static int order(const void *a, const void *b) { return memcmp(a, b, sizeof(struct record)); }

static void all_differ(struct record *records, size_t count) {
    /* The sort of Shell. The C library's allocates, which the sandbox below does not allow. */
    for (size_t gap = count / 2; gap > 0; gap /= 2) {
        for (size_t i = gap; i < count; i++) {
            struct record moved = records[i];
            size_t place = i;
            for (; place >= gap && order(&records[place - gap], &moved) > 0; place -= gap) {
                records[place] = records[place - gap];
            }
            records[place] = moved;
        }
    }
    for (size_t i = 1; i < count; i++) {
        CHECK(order(&records[i - 1], &records[i]) != 0);
    }
}

/* Before main, and before constructors of libraries that are loaded later. */
static struct record early;
__attribute__((constructor)) static void before_main(void) { early = record(); }

static void before(void) {
    struct record records[2] = {early, record()};
    all_differ(records, 2);
}

enum { HANDLED = 500 };
static struct record handled[HANDLED];
static atomic_int handlers;

static void on_signal(int signal) {
    (void)signal;
    int before = errno;
    if (handlers < HANDLED) {
        handled[handlers] = record();
        handlers++;
    }
    int file = open("/dev/null", O_RDONLY);
    CHECK(file >= 0 && close(file) == 0);
    errno = before;
}

/* The handler interrupts malloc as often as it interrupts reads, and makes the first read of the process. */
static void handler(void) {
    CHECK(signal(SIGALRM, on_signal) != SIG_ERR);
    struct itimerval often = {{0, 100}, {0, 100}};
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    struct record *records = malloc((RECORDS + HANDLED) * sizeof *records);
    size_t count = 0;
    while (handlers < HANDLED) {
        free(malloc((size_t)rand() % 5000));
        struct record next = record();
        if (count < RECORDS) {
            records[count++] = next;
        }
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    memcpy(&records[count], handled, sizeof handled);
    all_differ(records, count + HANDLED);
}

static atomic_int threads_that_drew;

static void *draw_only(void *unused) {
    (void)record();
    threads_that_drew++;
    for (;;) {
        (void)record();
    }
    return unused;
}

/* getrandom is a cancellation point: such a thread has no other. */
static void cancels(void) {
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            CHECK(pthread_create(&threads[i], NULL, draw_only, NULL) == 0);
        }
        /* In the later rounds a thread may be cancelled before its first draw. */
        while (threads_that_drew < THREADS) {
            sched_yield();
        }
        for (int i = 0; i < THREADS; i++) {
            void *result;
            CHECK(pthread_cancel(threads[i]) == 0);
            CHECK(pthread_join(threads[i], &result) == 0 && result == PTHREAD_CANCELED);
        }
        (void)record();
    }
}

#define ALLOW(number)                                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                        \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* A sandbox that ends the process at any call but getrandom, write and exit. Draws for half a second, in which the
 * engine would harvest five times. */
static void enter(bool by_prctl) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_write),
        ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    static struct record records[RECORDS];
    struct timespec start, now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &start) == 0);
    if (by_prctl) {
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    } else {
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    }
    size_t count = 0;
    do {
        struct record next = record();
        if (count < RECORDS) {
            records[count++] = next;
        }
        unsigned char bytes[5000];
        CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
        CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 500);
    all_differ(records, count);
    _exit(0);
}

static void sandbox(void) { enter(true); }
static void sandbox_by_syscall(void) { enter(false); }

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } steps[] = {
        {"before", before},
        {"handler", handler},
        {"cancels", cancels},
        {"sandbox", sandbox},
        {"sandbox_by_syscall", sandbox_by_syscall},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (argc > 1 && strcmp(argv[1], steps[i].name) == 0) {
            steps[i].run();
            return 0;
        }
    }
    return 2;
}
