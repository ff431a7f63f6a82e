/* Each allocation of a first call fails in turn, alone and with all later ones: the call gives what it promises or the error
 * that the header names, and never ends the process. */
#include "check.h"
#include <errno.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* A heap of our own in place of libc's. The next fail_at-th allocation fails, and all later ones if fails_on is set. */
static _Alignas(64) char heap[16 << 20];
static size_t used;
static long fail_at = -1;
static int fails_on;
static struct {
    int was_reached, first, second;
} *seen;

static void *take(size_t alignment, size_t size) {
    if (fail_at >= 0 && (fail_at == 0 || fail_at-- == 0)) {
        seen->was_reached = 1;
        fail_at = fails_on ? 0 : -1;
        errno = ENOMEM;
        return NULL;
    }
    /* The size stands before each block. */
    size_t start = (used + sizeof size + alignment - 1) / alignment * alignment;
    CHECK(start + size <= sizeof heap);
    used = start + size;
    memcpy(heap + start - sizeof size, &size, sizeof size);
    return heap + start;
}

void *malloc(size_t size) { return take(16, size); }
void free(void *block) { (void)block; }
void *aligned_alloc(size_t alignment, size_t size) { return take(alignment, size); }
void *memalign(size_t alignment, size_t size) { return take(alignment, size); }

void *calloc(size_t count, size_t size) {
    void *block = take(16, count * size);
    return block == NULL ? NULL : memset(block, 0, count * size);
}

void *realloc(void *block, size_t size) {
    char *moved = take(16, size);
    size_t before = 0;
    if (moved != NULL && block != NULL) {
        memcpy(&before, (char *)block - sizeof before, sizeof before);
        memcpy(moved, block, before < size ? before : size);
    }
    return moved;
}

int posix_memalign(void **place, size_t alignment, size_t size) {
    void *block = take(alignment < 16 ? 16 : alignment, size);
    if (block == NULL) {
        return ENOMEM;
    }
    *place = block;
    return 0;
}

static int fill(void) {
    char bytes[32];
    return ws_fill(bytes, sizeof bytes);
}

static int try_fill(void) {
    char bytes[32];
    return ws_try_fill(bytes, sizeof bytes);
}

static int rng(void) {
    ws_rng *rng;
    uint64_t word;
    int error = ws_rng_new(&rng);
    if (error != WS_OK) {
        CHECK(rng == NULL);
        return error;
    }
    error = ws_rng_fill(rng, &word, sizeof word);
    CHECK(ws_rng_u64(rng) != word);
    ws_rng_free(rng);
    return error;
}

static int stats(void) {
    struct ws_stats stats;
    return ws_stats(&stats, sizeof stats);
}

static int uuid4(void) {
    uint8_t id[16];
    return ws_uuid4(id);
}

static int uuid7(void) {
    uint8_t id[16];
    return ws_uuid7(id);
}

static int ulid(void) {
    uint8_t id[16];
    return ws_ulid(id);
}

static int generation(void) { return ws_generation() == 0 ? WS_NO_MEMORY : WS_OK; }

static int mix(void) { return ws_mix("data", 4); }

static int sandbox(void) {
    uint64_t word;
    int error = ws_prepare_for_sandbox();
    return error == WS_OK ? ws_try_fill(&word, sizeof word) : error;
}

static int stream(void) {
    const char *algorithms[] = {"chacha8", "aes256-ctr", "xoshiro256++", "xoshiro256++x16", "philox4x64-10"};
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        const uint32_t path[] = {1, 2};
        ws_stream *stream;
        int error = ws_stream_new(&stream, algorithms[i], 1, 2, path, 2);
        if (error != WS_OK) {
            return error;
        }
        char bytes[1000];
        error = ws_stream_fill(stream, bytes, sizeof bytes);
        ws_stream_free(stream);
        if (error != WS_OK) {
            return error;
        }
    }
    return WS_OK;
}

static const struct function {
    const char *name;
    int (*call)(void);
} functions[] = {
    {"ws_fill", fill},
    {"ws_try_fill", try_fill},
    {"ws_rng", rng},
    {"ws_stats", stats},
    {"ws_uuid4", uuid4},
    {"ws_uuid7", uuid7},
    {"ws_ulid", ulid},
    {"ws_generation", generation},
    {"ws_reseed", ws_reseed},
    {"ws_mix", mix},
    {"ws_diverge_from_clones", ws_diverge_from_clones},
    {"ws_prepare_for_sandbox", sandbox},
    {"ws_stream", stream},
};

/* Returns whether there was such an allocation. */
static int run(const struct function *function, long number, int on, void (*limit)(void)) {
    memset(seen, 0, sizeof *seen);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        if (limit != NULL) {
            limit();
        }
        fails_on = on;
        fail_at = number;
        seen->first = function->call();
        fail_at = -1;
        seen->second = function->call();
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    int is_good = status == 0 && (seen->first == WS_OK || seen->first == WS_NO_MEMORY) &&
                  (limit != NULL || seen->second == WS_OK);
    if (!is_good) {
        fprintf(stderr, "%s, allocation %ld%s: status %d, results %d and %d\n", function->name, number,
                on ? " and all later ones" : "", status, seen->first, seen->second);
        exit(1);
    }
    return seen->was_reached;
}

/* No new mapping. */
static void limit_address_space(void) {
    struct rlimit none = {1 << 20, 1 << 20};
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
}

/* The kernel locks every mapping that is made from now on, and may lock nothing. */
static void limit_locked_memory(void) {
    struct rlimit none = {0, 0};
    CHECK(setrlimit(RLIMIT_MEMLOCK, &none) == 0);
    CHECK(getuid() != 0 || setuid(65534) == 0);
    /* EPERM without the right: then there is no such limit to hit either. */
    (void)!mlockall(MCL_FUTURE);
}

int main(void) {
    seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(seen != MAP_FAILED);
    long all = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        for (int on = 0; on < 2; on++) {
            long number = 0;
            while (run(&functions[i], number, on, NULL)) {
                number++;
            }
            all += number;
        }
        run(&functions[i], -1, 0, limit_address_space);
        run(&functions[i], -1, 0, limit_locked_memory);
    }
    CHECK(all > 20);
    printf("%ld allocations failed\n", all);
    return 0;
}
