// Two copies of a process, as those of a cloned machine: what each draws after the page has changed.
//
// usage: PROGRAM PAGE guarded|alone. A guard that is installed is waited for. Prints a line for each copy.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// OpenSSL sees a fork by another number. A cloned machine has the same.
static pid_t first;
pid_t getpid(void) {
    return first ? first : (pid_t)syscall(SYS_getpid);
}

static void draw(char *line) {
    unsigned char bytes[16], private_bytes[16];
    if (RAND_bytes(bytes, 16) != 1 || RAND_priv_bytes(private_bytes, 16) != 1)
        abort();
    line += sprintf(line, "rand=%d random=%ld drand48=%.17g bytes=", rand(), random(), drand48());
    for (int i = 0; i < 16; i++)
        line += sprintf(line, "%02x", bytes[i]);
    line += sprintf(line, " private=");
    for (int i = 0; i < 16; i++)
        line += sprintf(line, "%02x", private_bytes[i]);
    strcpy(line, "\n");
}

static void change(const char *page) {
    uint64_t number;
    int file = open(page, O_RDWR);
    if (pread(file, &number, 8, 104) != 8)
        abort();
    number++;
    if (pwrite(file, &number, 8, 104) != 8)
        abort();
    close(file);
}

static void wait_for_guard(void) {
    uint64_t (*notices)(uint64_t *) = (uint64_t(*)(uint64_t *))dlsym(RTLD_DEFAULT, "wellspring_clone_guard_notices");
    uint64_t last_ns = 0;
    if (!notices)
        abort();
    for (int i = 0; notices(&last_ns) == 0; i++) {
        if (i > 30000)
            abort();
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (last_ns == 0)
        abort();
}

int main(int count, char **words) {
    char line[256];
    if (count != 3)
        return 2;
    first = (pid_t)syscall(SYS_getpid);
    srand(2026);
    srand48(2026);
    draw(line);
    // Both are made before the page changes: the guard of this process hears that too.
    pid_t children[2];
    int go[2];
    if (pipe(go) != 0)
        return 1;
    for (int copy = 0; copy < 2; copy++) {
        children[copy] = fork();
        if (children[copy] == 0) {
            if (read(go[0], line, 1) != 1)
                abort();
            if (strcmp(words[2], "guarded") == 0)
                wait_for_guard();
            draw(line);
            if (write(1, line, strlen(line)) < 0)
                abort();
            _exit(0);
        }
    }
    change(words[1]);
    if (write(go[1], "go", 2) != 2)
        return 1;
    for (int copy = 0; copy < 2; copy++) {
        int status;
        if (children[copy] < 0 || waitpid(children[copy], &status, 0) != children[copy] || status != 0)
            return 1;
    }
    return 0;
}
