/* Ways into a seccomp sandbox, and questions about it that install nothing: the first argument names one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* _exit calls exit_group, which most of the filters below allow. */
#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            char text[] = "line ....: " #condition "\n";                      \
            for (int i = 8, line = __LINE__; i > 4; i--, line /= 10)          \
                text[i] = (char)('0' + line % 10);                            \
            (void)!write(2, text, sizeof text - 1);                           \
            _exit(1);                                                         \
        }                                                                     \
    } while (0)

enum { THREADS = 40 };

/* A system call that no function of the library sees. */
static long raw(long number, long a, long b, long c) {
    long result;
#if defined(__x86_64__)
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
#else
    register long n __asm__("x8") = number;
    register long first __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(first) : "r"(n), "r"(second), "r"(third) : "memory");
    result = first;
#endif
    return result;
}

/* In one page, which the first draw makes known as writable. */
static unsigned char bytes[64] __attribute__((aligned(64)));

static void draw(void) {
    unsigned char before[sizeof bytes];
    memcpy(before, bytes, sizeof bytes);
    CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes && memcmp(before, bytes, sizeof bytes) != 0);
}

#define LOAD BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ALLOW(number)                                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                        \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define PROGRAM(filter)                                                       \
    { sizeof filter / sizeof *filter, filter }

static struct sock_filter everything[] = {RETURN(SECCOMP_RET_ALLOW)};
static struct sock_fprog allow_all = PROGRAM(everything);

/* A thread that draws needs a place for its secrets; the library maps some when none is free, if it makes system calls. */
static atomic_int drawn;
static atomic_bool is_over;

static void *draw_and_stay(void *unused) {
    unsigned char own[16];
    CHECK(getrandom(own, sizeof own, 0) == sizeof own);
    drawn++;
    while (!is_over)
        sched_yield();
    return unused;
}

static int secret_mappings(void) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    CHECK(maps != NULL);
    char line[512];
    int count = 0;
    while (fgets(line, sizeof line, maps) != NULL)
        count += strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " wf") != NULL;
    fclose(maps);
    return count;
}

/* Whether the library makes system calls for 40 threads. */
static bool makes_calls(void) {
    pthread_t threads[THREADS];
    int before = secret_mappings();
    drawn = 0;
    is_over = false;
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, draw_and_stay, NULL) == 0);
    while (drawn < THREADS)
        sched_yield();
    int after = secret_mappings();
    is_over = true;
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return after > before;
}

/* What libseccomp, Chrome and systemd ask: nothing is installed. */
static void asks(void) {
    draw();
    unsigned action = SECCOMP_RET_KILL_PROCESS;
    unsigned short sizes[3];
    CHECK(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == -1 && errno == EFAULT);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)8, 0, 0) == -1 && errno == EFAULT);
    CHECK(prctl(PR_SET_SECCOMP, 77, &allow_all, 0, 0) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, sizes) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0x4000, &allow_all) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_seccomp, 99, 0, NULL) == -1 && errno == EINVAL);
    struct sock_fprog empty = {0, everything};
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &empty) == -1 && errno == EINVAL);
    CHECK(makes_calls());
}

static void *take_a_filter(void *unused) {
    CHECK(raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&allow_all) == 0);
    drawn = 1;
    while (!is_over)
        sched_yield();
    return unused;
}

/* seccomp(2) returns the number of a thread that has another filter: nothing is installed. */
static void refused_by_a_thread(void) {
    draw();
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, take_a_filter, NULL) == 0);
    while (!drawn)
        sched_yield();
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &allow_all) > 0);
    is_over = true;
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(makes_calls());
}

/* A filter with a listener is installed, and seccomp(2) returns a descriptor. */
static void listened(void) {
    draw();
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &allow_all) > 0);
    CHECK(!makes_calls());
}

/* A filter of a child that shares the memory is the child's alone. */
static void of_a_vfork_child(void) {
    draw();
    pid_t child = vfork();
    if (child == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &allow_all, 0, 0) != 0)
            _exit(1);
        _exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(makes_calls());
    /* A child of fork(2) without the C library has memory of its own. */
    child = (pid_t)raw(SYS_clone, SIGCHLD, 0, 0);
    if (child == 0) {
        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &allow_all, 0, 0) == 0);
        CHECK(!makes_calls());
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* The same in a child of fork(3), which has not drawn. */
static void of_a_vfork_child_of_a_child(void) {
    draw();
    pid_t drawer = fork();
    CHECK(drawer >= 0);
    pid_t child = drawer == 0 ? vfork() : drawer;
    if (child == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &allow_all, 0, 0) != 0)
            _exit(1);
        _exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    if (drawer == 0) {
        CHECK(makes_calls());
        _exit(0);
    }
}

extern const unsigned __rseq_size __attribute__((weak));

/* Ends with 77 where nothing tells a child that shares the memory of a process which has not drawn. */
static void needs_rseq(void) {
    if (&__rseq_size == NULL || __rseq_size == 0)
        _exit(77);
}

/* The same of a process that has not drawn before. */
static void of_a_first_vfork_child(void) {
    needs_rseq();
    pid_t child = vfork();
    if (child == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &allow_all, 0, 0) != 0)
            _exit(1);
        _exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    draw();
    CHECK(makes_calls());
}

/* The first draw of all is a vfork child's; then the parent installs a filter. A raw clone(2) has its own memory. */
static void after_a_vfork_child_drew(void) {
    needs_rseq();
    pid_t child = vfork();
    if (child == 0) {
        if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
            _exit(1);
        _exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    child = (pid_t)raw(SYS_clone, SIGCHLD, 0, 0);
    CHECK(child >= 0);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &allow_all, 0, 0) == 0);
    CHECK(!makes_calls());
    if (child == 0)
        _exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* A question after a filter takes nothing back. */
static void asks_after(void) {
    draw();
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &allow_all, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)8, 0, 0) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0x4000, &allow_all) == -1 && errno == EINVAL);
    CHECK(!makes_calls());
}

static void draw_much(void) {
    for (int i = 0; i < 200000; i++)
        draw();
}

/* Only read, write, exit and sigreturn, and no cycle counter on x86. */
static void strict(bool by_seccomp) {
    draw();
    if (by_seccomp)
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) == 0);
    else
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0);
    draw_much();
    raw(SYS_exit, 0, 0, 0);
}

static void strict_by_prctl(void) { strict(false); }
static void strict_by_seccomp(void) { strict(true); }

/* A filter that another thread installs for all. */
static void *forbid_for_all(void *unused) {
    struct sock_filter filter[] = {LOAD, ALLOW(SYS_getrandom), ALLOW(SYS_write), ALLOW(SYS_exit_group),
                                   RETURN(SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = PROGRAM(filter);
    /* Not before the first thread has left pthread_create. */
    while (!is_over)
        ;
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
    drawn = 1;
    for (;;)
        ;
    return unused;
}

static void for_all_threads(void) {
    draw();
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, forbid_for_all, NULL) == 0);
    is_over = true;
    while (!drawn)
        ;
    draw_much();
    _exit(0);
}

/* A child of fork(3), where only a fork's own calls are allowed: the parent seeds it. */
static void child(void) {
    draw();
    struct sock_filter filter[] = {
        LOAD, ALLOW(SYS_clone), ALLOW(SYS_set_robust_list), ALLOW(SYS_rseq), ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_gettid), ALLOW(SYS_wait4), ALLOW(SYS_write), ALLOW(SYS_exit_group),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1), RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = PROGRAM(filter);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
    draw();
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            draw();
            /* A child of the child. */
            pid = fork();
            CHECK(pid >= 0);
            draw();
            if (pid == 0)
                _exit(0);
        }
        int status;
        CHECK(wait4(pid, &status, 0, NULL) == pid && status == 0);
        draw();
    }
    _exit(0);
}

/* open(2) makes the one call that the program made: here no other is allowed. */
static void opens(void) {
    struct sock_filter filter[] = {LOAD, ALLOW(SYS_getrandom), ALLOW(SYS_openat), ALLOW(SYS_read), ALLOW(SYS_close),
                                   ALLOW(SYS_write), ALLOW(SYS_exit_group), RETURN(SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = PROGRAM(filter);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
    const char *names[] = {"/dev/urandom", "/dev/random"};
    for (int i = 0; i < 4; i++) {
        int file = i < 2 ? open(names[i], O_RDONLY) : openat(AT_FDCWD, names[i - 2], O_RDONLY | O_CLOEXEC);
        CHECK(file >= 0 && read(file, bytes, sizeof bytes) == sizeof bytes && close(file) == 0);
    }
    (void)!write(1, bytes, sizeof bytes);
    _exit(0);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } steps[] = {
        {"asks", asks},
        {"refused_by_a_thread", refused_by_a_thread},
        {"listened", listened},
        {"of_a_vfork_child", of_a_vfork_child},
        {"of_a_vfork_child_of_a_child", of_a_vfork_child_of_a_child},
        {"of_a_first_vfork_child", of_a_first_vfork_child},
        {"after_a_vfork_child_drew", after_a_vfork_child_drew},
        {"asks_after", asks_after},
        {"strict_by_prctl", strict_by_prctl},
        {"strict_by_seccomp", strict_by_seccomp},
        {"for_all_threads", for_all_threads},
        {"child", child},
        {"opens", opens},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (argc > 1 && strcmp(argv[1], steps[i].name) == 0) {
            steps[i].run();
            return 0;
        }
    }
    return 2;
}
