/* A program that draws keys behind a filter which lets it write and end, and nothing else. docs/start/c.md shows its middle. */
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(number)                                                                                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Allows write and exit_group; and clone where a test forks. */
static int close_sandbox(int may_fork) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_exit_group),
        ALLOW(may_fork ? SYS_clone : SYS_write),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

int main(int argc, char **argv) {
    int may_fork = argc > 1 && strcmp(argv[1], "clone") == 0;
    ws_rng *rng;
    uint8_t key[32], id[16];
    static struct record records[500];
    uint64_t sum = 0;
    /* The page of a generator is mapped by its first read. */
    CHECK(ws_rng_new(&rng) == WS_OK && ws_rng_u64(rng) != 0);

    if (ws_prepare_for_sandbox() != WS_OK) {
        return 1;
    }
    if (!close_sandbox(may_fork)) {
        printf("no filter\n");
        return 0;
    }
    if (may_fork) {
        /* A raw clone runs no handler of fork(3): nothing seeds the child, and it must not wait without end for a seed. */
        long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            CHECK(ws_try_fill(key, sizeof key) == WS_NOT_SEEDED);
            CHECK(ws_fill(key, sizeof key) == WS_NOT_SEEDED);
            CHECK(ws_uuid4(id) == WS_NOT_SEEDED);
            CHECK(ws_rng_fill(rng, key, sizeof key) == WS_NOT_SEEDED);
            CHECK(write(1, "refused\n", 8) == 8);
            _exit(0);
        }
    }
    CHECK(ws_fill(key, sizeof key) == WS_OK && ws_try_fill(records, sizeof records) == WS_OK);
    /* Without qsort(3), which asks the system how much memory there is. */
    for (int i = 0; i < 500; i++) {
        for (int j = 0; j < i; j++) {
            CHECK(check_order(&records[i], &records[j]) != 0);
        }
    }
    for (long i = 0; i < 3000000; i++) {
        sum += ws_u64() + ws_u32() + ws_below(6) + ws_rng_u64(rng);
    }
    CHECK(ws_uuid7(id) == WS_OK && ws_mix(&sum, sizeof sum) == WS_OK && ws_diverge_from_clones() == WS_OK);
    /* The processor's instructions may not be there, so that nothing brings a new seed. */
    int reseeded = ws_reseed();
    CHECK(reseeded == WS_OK || reseeded == WS_NOT_SEEDED);
    CHECK(ws_fill(key, sizeof key) == WS_OK);
    CHECK(write(1, "alive\n", 6) == 6);
    exit(0);
}
