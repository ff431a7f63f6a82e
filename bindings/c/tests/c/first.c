/* The first reads of a process, of a thread and of a child, by getrandom or by OpenSSL. The tracer makes calls between two
 * markers fail, so a read may return an error; it never ends the process. With the word "check" every read succeeds. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef DOOR_OPENSSL
#include <openssl/crypto.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#else
#include <sys/random.h>
#endif

enum { MARKER = 100000, LONG = 6000 };

static bool is_checked;

static void mark(void) {
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"((long)MARKER) : "rcx", "r11", "memory");
#else
    register long number __asm__("x8") = MARKER;
    register long result __asm__("x0");
    __asm__ volatile("svc 0" : "=r"(result) : "r"(number) : "memory");
#endif
}

static void fail(const char *what) {
    fprintf(stderr, "%s: errno %d\n", what, errno);
    _exit(1);
}

/* Bytes that came before: a read that succeeds returns others. */
static unsigned char last[LONG];

#ifdef DOOR_OPENSSL
static void draw(int (*source)(unsigned char *, int), int length) {
    unsigned char bytes[LONG] = {0};
    bool is_served = source(bytes, length) == 1;
    if (is_served && memcmp(bytes, last, 16) != 0)
        memcpy(last, bytes, (size_t)length);
    else if (is_served || is_checked)
        fail("RAND_bytes");
}

static void read_all(void) {
    draw(RAND_bytes, 16);
    draw(RAND_priv_bytes, 32);
    draw(RAND_bytes, LONG);
}

/* The provider is loaded before calls fail. */
static void load(void) {
    if (!OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL) || !OSSL_PROVIDER_available(NULL, "wellspring"))
        fail("the provider is not loaded");
}
#else
static void load(void) {}

static void read_some(size_t length) {
    unsigned char bytes[LONG] = {0};
    errno = 4711;
    ssize_t got = getrandom(bytes, length, 0);
    /* Where the kernel does not tell whether a page can be written, a long read ends before that. */
    bool is_served = got == (ssize_t)length || (!is_checked && length > 256 && got > 16);
    if (is_served && memcmp(bytes, last, 16) != 0 && errno == 4711)
        memcpy(last, bytes, length);
    else if (is_checked || got != -1 || errno == 4711)
        fail("getrandom");
}

static void read_all(void) {
    read_some(16);
    read_some(LONG);
    errno = 4711;
    unsigned char bytes[32] = {0}, zeros[32] = {0};
    if (getentropy(bytes, sizeof bytes) == 0) {
        if (memcmp(bytes, zeros, sizeof zeros) == 0 || errno != 4711)
            fail("getentropy");
    } else if (is_checked) {
        fail("getentropy");
    }
    int file = open("/dev/urandom", O_RDONLY);
    if (file >= 0)
        close(file);
    else if (is_checked)
        fail("open");
}

#endif

static void *counted_reads(void *unused) {
    mark();
    read_all();
    mark();
    return unused;
}

int main(int count, char **words) {
    is_checked = count > 1 && strcmp(words[1], "check") == 0;
    load();
    (void)counted_reads(NULL);
    pthread_t thread;
    if (pthread_create(&thread, NULL, counted_reads, NULL) != 0 || pthread_join(thread, NULL) != 0)
        fail("thread");
    mark();
    pid_t child = fork();
    if (child == 0) {
        read_all();
        _exit(0);
    }
    mark();
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
        fail("child");
    /* All is well again. */
    is_checked = true;
    for (int i = 0; i < 20; i++)
        read_all();
    return 0;
}
