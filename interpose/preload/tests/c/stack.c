/* How much of a signal stack the first read of a process takes. usage: PROGRAM BYTES draw|nothing. Prints the bytes that a
 * handler on a stack of BYTES used, the frame of the signal too; below and above the stack nothing is mapped. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAINT = 0xA7, PAGE = 4096 };

static int draws, handled;
/* In several pages, so that bytes are made straight there too. */
static unsigned char bytes[3 * PAGE];

static void handle(int signal) {
    (void)signal;
    if (draws && (getrandom(bytes, 16, 0) != 16 || getrandom(bytes + 16, 9000, 0) != 9000))
        _exit(3);
    handled = 1;
}

int main(int count, char **words) {
    if (count != 3)
        return 2;
    size_t size = (size_t)atol(words[1]);
    draws = strcmp(words[2], "draw") == 0;
    unsigned char *start = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED || mprotect(start += PAGE, size, PROT_READ | PROT_WRITE) != 0)
        return 4;
    memset(start, PAINT, size);
    /* The C library refuses a stack that the kernel takes. */
    stack_t stack = {.ss_sp = start, .ss_size = size};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    if (syscall(SYS_sigaltstack, &stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0 || raise(SIGUSR1) != 0)
        return 5;
    size_t unused = 0;
    while (unused < size && start[unused] == PAINT)
        unused++;
    printf("%zu\n", size - unused);
    return !handled;
}
