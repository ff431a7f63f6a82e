/* The first draws of a process, of a thread and of a child from a loaded provider. The tracer makes calls between two markers
 * fail, so a draw may return an error; it never ends the process. With the word "check" every draw succeeds. */
#define _GNU_SOURCE
#include <openssl/crypto.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    fprintf(stderr, "%s\n", what);
    _exit(1);
}

/* Bytes that came before: a draw that succeeds returns others. */
static unsigned char last[LONG];

static void draw(int (*source)(unsigned char *, int), int length) {
    unsigned char bytes[LONG] = {0};
    if (source(bytes, length) == 1) {
        if (memcmp(bytes, last, 16) == 0)
            fail("bytes came twice");
        memcpy(last, bytes, (size_t)length);
    } else if (is_checked) {
        fail("no bytes");
    }
}

static void draw_all(void) {
    draw(RAND_bytes, 16);
    draw(RAND_priv_bytes, 32);
    draw(RAND_bytes, LONG);
}

static void *counted_draws(void *unused) {
    mark();
    draw_all();
    mark();
    return unused;
}

int main(int count, char **words) {
    is_checked = count > 1 && strcmp(words[1], "check") == 0;
    if (!OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL) || !OSSL_PROVIDER_available(NULL, "wellspring"))
        fail("the provider is not loaded");
    (void)counted_draws(NULL);
    pthread_t thread;
    if (pthread_create(&thread, NULL, counted_draws, NULL) != 0 || pthread_join(thread, NULL) != 0)
        fail("thread");
    mark();
    pid_t child = fork();
    if (child == 0) {
        draw_all();
        _exit(0);
    }
    mark();
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
        fail("child");
    /* All is well again. */
    is_checked = true;
    for (int i = 0; i < 20; i++)
        draw_all();
    return 0;
}
