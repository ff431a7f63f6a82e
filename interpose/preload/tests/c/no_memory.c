/* The first draws of a program that may map nothing, or only so many KiB: the kernel serves them. When there is memory again,
 * the library does. Usage: PROGRAM address-space KIB | locked */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void check(int is_right, const char *what) {
    if (!is_right) {
        fprintf(stderr, "%s: errno %d\n", what, errno);
        _exit(1);
    }
}

static void (*fill)(void *, size_t);

static void draw(void) {
    unsigned char bytes[3][32] = {0};
    check(getrandom(bytes[0], 32, 0) == 32, "getrandom");
    check(getentropy(bytes[1], 32) == 0, "getentropy");
    if (fill)
        fill(bytes[2], 32);
    else
        bytes[2][0] = 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++)
            check(memcmp(bytes[i], bytes[j], 32) != 0, "the same bytes");
}

static size_t mapped_bytes(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    check(file && fscanf(file, "%lu", &pages) == 1, "statm");
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit(int which, size_t bytes) {
    struct rlimit limit;
    check(getrlimit(which, &limit) == 0, "getrlimit");
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    check(setrlimit(which, &limit) == 0, "setrlimit");
}

int main(int count, char **words) {
    fill = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "arc4random_buf");
    if (count == 3) {
        limit(RLIMIT_AS, mapped_bytes() + (size_t)atol(words[2]) * 1024);
        for (int i = 0; i < 20; i++)
            draw();
        limit(RLIMIT_AS, RLIM_INFINITY);
    } else {
        /* Not by setuid(3), which another thread of a sanitizer would have to answer. Root may lock all. EINVAL: the
           namespace has no such user, and its root is bound by the limit. */
        check(syscall(SYS_setresuid, 65534, 65534, 65534) == 0 || errno == EPERM || errno == EINVAL, "setresuid");
        limit(RLIMIT_MEMLOCK, mapped_bytes() + (1 << 20));
        if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
            puts("no memory can be locked");
            return 0;
        }
        while (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
            ;
        for (int i = 0; i < 20; i++)
            draw();
        check(munlockall() == 0, "munlockall");
    }
    for (int i = 0; i < 100; i++)
        draw();
    return 0;
}
