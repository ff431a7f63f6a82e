/* What programs do to a door: the first argument names it. check.h says which door. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#if !defined(DOOR_GETRANDOM) && !defined(DOOR_OPENSSL)
#define DOOR_C
#endif

enum { THREADS = 8, CHILDREN = 40, DRAWS = 4 };

#ifdef __SANITIZE_ADDRESS__
/* A cancelled thread leaves marks of its frames on its stack. AddressSanitizer's own end of a thread would write there, to
 * give back a stack for signals, and take it for a fault. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "use_sigaltstack=0"; }
#endif

static atomic_bool is_over;

static void *draw_until_stopped(void *unused) {
    (void)unused;
    while (!is_over) {
        unsigned char bytes[100];
        check_draw(bytes, sizeof bytes);
        (void)check_record();
    }
    return NULL;
}

static void start_threads(pthread_t *threads, void *(*body)(void *)) {
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, body, NULL) == 0);
    }
}

static void join_threads(pthread_t *threads) {
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

static void send_draws(int pipe) {
    struct record records[DRAWS];
    for (int i = 0; i < DRAWS; i++) {
        records[i] = check_record();
    }
    CHECK(write(pipe, records, sizeof records) == sizeof records);
}

/* Children and their children draw at once, while the parent's threads draw and hold whatever lock they hold. */
static void forks(void) {
    pthread_t threads[THREADS];
    start_threads(threads, draw_until_stopped);
    int ends[2];
    CHECK(pipe(ends) == 0);
    static struct record records[CHILDREN * 3 * DRAWS];
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            pid_t grandchild = fork();
            send_draws(ends[1]);
            if (grandchild > 0) {
                int status;
                CHECK(waitpid(grandchild, &status, 0) == grandchild && status == 0);
            }
            _exit(0);
        }
        send_draws(ends[1]);
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        size_t want = 3 * DRAWS * sizeof *records;
        char *place = (char *)&records[i * 3 * DRAWS];
        while (want > 0) {
            ssize_t got = read(ends[0], place, want);
            CHECK(got > 0);
            place += got;
            want -= (size_t)got;
        }
    }
    is_over = true;
    join_threads(threads);
    check_all_differ(records, CHILDREN * 3 * DRAWS);
}

/* A function of its own: the child shares this frame until exec. */
static __attribute__((noinline)) pid_t vfork_true(void) {
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    return child;
}

/* vfork shares the memory until exec; posix_spawn uses it. Both leave the parent's generator as it was. */
static void spawns(void) {
    static struct record records[200];
    size_t count = 0;
    for (int i = 0; i < 20; i++) {
        records[count++] = check_record();
        pid_t child = vfork_true();
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        records[count++] = check_record();
        char *words[] = {"true", NULL};
        CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, words, NULL) == 0);
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        records[count++] = check_record();
    }
    check_all_differ(records, count);
}

enum { HANDLED = 2000, MAIN = 200000 };
static struct record handled[HANDLED];
static atomic_int handlers;

static void on_timer(int signal) {
    (void)signal;
    int before = errno;
    int mine = handlers;
    if (mine < HANDLED) {
        handled[mine] = check_record();
        handlers = mine + 1;
    }
    CHECK(errno == before);
}

/* A timer of 10 kHz, whose handler draws, interrupts reads of the same thread. */
static void timer(void) {
    (void)check_record();
    struct sigaction action = {.sa_handler = on_timer};
    CHECK(sigaction(SIGRTMIN, &action, NULL) == 0);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    timer_t id;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &id) == 0);
    struct itimerspec often = {{0, 100000}, {0, 100000}};
    CHECK(timer_settime(id, 0, &often, NULL) == 0);
    struct record *records = malloc((MAIN + HANDLED) * sizeof *records);
    CHECK(records != NULL);
    size_t count = 0;
    while (handlers < HANDLED) {
        struct record record = check_record();
        if (count < MAIN) {
            records[count++] = record;
        }
    }
    struct itimerspec never = {{0, 0}, {0, 0}};
    CHECK(timer_settime(id, 0, &never, NULL) == 0);
    memcpy(&records[count], handled, sizeof handled);
    check_all_differ(records, count + HANDLED);
    free(records);
}

static atomic_int threads_that_drew;

static void *draw_until_cancelled(void *unused) {
    (void)check_record();
    threads_that_drew++;
    while (!is_over) {
        (void)check_record();
        pthread_testcancel();
    }
    return unused;
}

/* Cancelled threads leave no lock behind and give their taps back. */
static void cancels(void) {
    for (int round = 0; round < 50; round++) {
        pthread_t threads[THREADS];
        start_threads(threads, draw_until_cancelled);
        /* In the later rounds a thread may be cancelled before its first draw: some doors are cancellation points. */
        while (threads_that_drew < THREADS) {
            sched_yield();
        }
        for (int i = 0; i < THREADS; i++) {
            CHECK(pthread_cancel(threads[i]) == 0);
        }
        join_threads(threads);
        (void)check_record();
    }
#ifdef DOOR_C
    struct ws_stats stats;
    CHECK(ws_stats(&stats, sizeof stats) == WS_OK && stats.taps <= 2);
#endif
}

#ifdef DOOR_C
static void *draw_while_cancelled(void *went_on) {
    while (threads_that_drew == 0) {
    }
    static unsigned char bytes[9000];
    CHECK(ws_fill(bytes, sizeof bytes) == WS_OK && ws_reseed() == WS_OK);
    struct ws_stats stats;
    CHECK(ws_stats(&stats, sizeof stats) == WS_OK && ws_below(7) < 7);
    ws_rng *rng;
    CHECK(ws_rng_new(&rng) == WS_OK && ws_rng_fill(rng, bytes, sizeof bytes) == WS_OK);
    ws_rng_free(rng);
    *(bool *)went_on = true;
    pthread_testcancel();
    return NULL;
}

/* No function is a cancellation point, also not where it makes the engine: a caller may hold a lock. */
static void cancelled_before(void) {
    bool went_on = false;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, draw_while_cancelled, &went_on) == 0);
    CHECK(pthread_cancel(thread) == 0);
    threads_that_drew = 1;
    void *result;
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(went_on && result == PTHREAD_CANCELED);
}
#endif

static pthread_key_t key;
static struct record at_exit[THREADS * 8];
static atomic_int at_exit_count;

static void draw_in_destructor(void *value) {
    at_exit[at_exit_count++] = check_record();
    intptr_t left = (intptr_t)value - 1;
    if (left > 0) {
        CHECK(pthread_setspecific(key, (void *)left) == 0);
    }
}

static void *draw_once(void *unused) {
    (void)unused;
    (void)check_record();
    CHECK(pthread_setspecific(key, (void *)3) == 0);
    return NULL;
}

static void *only_destructors(void *unused) {
    (void)unused;
    CHECK(pthread_setspecific(key, (void *)3) == 0);
    return NULL;
}

__attribute__((unused)) static void draw_at_exit(void) { (void)check_record(); }

/* Destructors of thread-local data draw, before and after the library's own, and so do handlers of atexit. */
static void destructors(void) {
    CHECK(pthread_key_create(&key, draw_in_destructor) == 0);
    /* OpenSSL frees its generators in such a handler too, and before this one. */
#ifndef DOOR_OPENSSL
    CHECK(atexit(draw_at_exit) == 0);
#endif
    pthread_t threads[THREADS];
    start_threads(threads, draw_once);
    join_threads(threads);
    start_threads(threads, only_destructors);
    join_threads(threads);
    CHECK(at_exit_count == 2 * THREADS * 3);
    check_all_differ(at_exit, 2 * THREADS * 3);
}

static void *draw_all_sizes(void *unused) {
    (void)unused;
    static _Thread_local unsigned char bytes[3];
    check_draw(bytes, sizeof bytes);
    struct record records[2] = {check_record(), check_record()};
    check_all_differ(records, 2);
    unsigned char *many = malloc(1 << 20);
    CHECK(many != NULL);
    check_draw(many, 1 << 20);
    free(many);
    return NULL;
}

/* Threads with stacks of 16 KiB, or of the least that the system allows where that is more: 128 KiB on arm64. */
static void small_stacks(void) {
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, 16384) == 0 ||
          pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0);
    (void)check_record();
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, &attributes, draw_all_sizes, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

/* No file can be opened. Not by ulimit -n 3: the loader needs a descriptor for the library. */
static void no_descriptors(void) {
    struct rlimit three = {3, 3};
    CHECK(setrlimit(RLIMIT_NOFILE, &three) == 0 && dup(0) < 0);
    pthread_t threads[THREADS];
    start_threads(threads, draw_all_sizes);
    join_threads(threads);
}

/* What is left in a limit, or in a system without some of its files. */
static void small(void) {
    (void)draw_all_sizes(NULL);
    int status;
    pid_t child = fork();
    struct record record = check_record();
    CHECK(child >= 0);
    if (child == 0) {
        _exit(record.word[0] == 0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

#ifdef DOOR_C
/* Without memory the first call fails with its error, and a later one succeeds. */
static void no_memory(void) {
    /* The heap gets its first pages now: what is missing later is memory that a fork wipes. */
    void *volatile first_pages = malloc(1000);
    free(first_pages);
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    struct rlimit none = {4096, before.rlim_max};
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
    unsigned char bytes[16] = {0};
    int first = ws_fill(bytes, sizeof bytes);
    int second = ws_try_fill(bytes, sizeof bytes);
    ws_rng *rng;
    int third = ws_rng_new(&rng);
    int fourth = ws_uuid7(bytes);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(first == WS_NO_MEMORY && second == WS_NO_MEMORY && third == WS_NO_MEMORY && rng == NULL);
    CHECK(fourth == WS_NO_MEMORY && bytes[6] == 0);
    CHECK(ws_fill(bytes, sizeof bytes) == WS_OK);
}
#endif

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } steps[] = {
        {"forks", forks},
        {"spawns", spawns},
        {"timer", timer},
        {"cancels", cancels},
        {"destructors", destructors},
        {"small_stacks", small_stacks},
        {"no_descriptors", no_descriptors},
        {"small", small},
#ifdef DOOR_C
        {"no_memory", no_memory},
        {"cancelled_before", cancelled_before},
#endif
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (argc > 1 && strcmp(argv[1], steps[i].name) == 0) {
            check_start();
            steps[i].run();
            return 0;
        }
    }
    return 2;
}
