// Preloaded into a program under test: the kernel of a machine that was cloned, on a processor without RDRAND.
//
// getrandom() and getentropy() return the 32 bytes of the file KERNEL_STATE again and again, as the kernels of all clones return
// the same until they are reseeded. A test reseeds by writing other bytes there. The clocks tick once a millisecond: a search has
// a million times fewer moments to try than with clocks of nanoseconds.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
    unsigned char state[32], *bytes = buffer;
    const int file = open(getenv("KERNEL_STATE"), O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, state, sizeof(state)) != sizeof(state))
        abort();
    close(file);
    for (size_t i = 0; i < length; i++)
        bytes[i] = state[i % sizeof(state)];
    (void)flags;
    return (ssize_t)length;
}

int getentropy(void *buffer, size_t length) {
    return getrandom(buffer, length, 0) < 0 ? -1 : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    const int failed = (int)syscall(SYS_clock_gettime, clock, time);
    time->tv_nsec -= time->tv_nsec % 1000000;
    return failed;
}
