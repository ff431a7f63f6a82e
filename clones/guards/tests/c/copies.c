// Preloaded into a program under test: makes a copy of it, as a machine that is restored twice has two.
//
// rmdir("/copies") forks. Both go on with the same state, the parent after its child has ended. rmdir("/end") ends a copy.
// V8 marks its heap as memory that a child does not get: here it does.
// getpid() stays the same, so that no generator sees a fork: a cloned machine has none.
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t first;

__attribute__((constructor)) static void start(void) {
    first = (pid_t)syscall(SYS_getpid);
}

pid_t getpid(void) {
    return first;
}

int madvise(void *address, size_t length, int advice) {
    return advice == MADV_DONTFORK ? 0 : (int)syscall(SYS_madvise, address, length, advice);
}

int rmdir(const char *path) {
    if (strcmp(path, "/end") == 0)
        _exit(0);
    if (strcmp(path, "/copies") != 0)
        return (int)syscall(SYS_rmdir, path);
    pid_t child = fork();
    if (child > 0)
        waitpid(child, NULL, 0);
    return child < 0 ? -1 : 0;
}
