/* Loads modules with local symbols, as Python does, and draws through each:
 * modules MODULE MARK [MODULE MARK].. expects the bytes MARK of the OpenSSL behind each module, or others if MARK is
 * "random". */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined MARK

/* An OpenSSL that only one module needs. Its bytes are all MARK, so that a test sees who answered. */
int RAND_bytes(unsigned char *destination, int length) {
    if (length < 0) {
        return 0;
    }
    memset(destination, MARK, (size_t)length);
    return 1;
}

int RAND_priv_bytes(unsigned char *destination, int length) {
    return RAND_bytes(destination, length);
}

#elif defined MODULE

/* A module that a program loads with dlopen, and that alone needs an OpenSSL. */
int RAND_bytes(unsigned char *destination, int length);
int RAND_priv_bytes(unsigned char *destination, int length);

/* The results are stored: a call at the end of a function would leave no return address in this file. */
int draw(unsigned char *destination, int length) {
    volatile int result = RAND_bytes(destination, length);
    return result;
}

int draw_private(unsigned char *destination, int length) {
    volatile int result = RAND_priv_bytes(destination, length);
    return result;
}

#else

typedef int (*function)(unsigned char *, int);

static int is_marked(const unsigned char *bytes, int length, int mark) {
    for (int i = 0; i < length; i++) {
        if (bytes[i] != mark) {
            return 0;
        }
    }
    return 1;
}

static void expect(int condition, const char *what, const char *module) {
    if (!condition) {
        fprintf(stderr, "%s: %s\n", module, what);
        exit(1);
    }
}

static void check(const char *module, const char *mark) {
    void *handle = dlopen(module, RTLD_NOW | RTLD_LOCAL);
    expect(handle != NULL, "cannot be loaded", module);
    const char *names[] = {"draw", "draw_private"};
    for (int i = 0; i < 2; i++) {
        function draw = (function)dlsym(handle, names[i]);
        expect(draw != NULL, "has no function", module);
        unsigned char bytes[1000], none = 7;
        for (int round = 0; round < 3; round++) {
            memset(bytes, 0, sizeof bytes);
            expect(draw(bytes, sizeof bytes) == 1, "fails", module);
            int is_random = strcmp(mark, "random") == 0;
            int is_zero = is_marked(bytes + 968, 32, 0);
            expect(!is_zero, "left the end of the buffer as it was", module);
            int first = is_marked(bytes, sizeof bytes, bytes[0]) ? bytes[0] : -1;
            expect(first == (is_random ? -1 : atoi(mark)), "another generator answered", module);
        }
        expect(draw(&none, 0) == 1 && none == 7, "does not take length 0", module);
        expect(draw(&none, -1) == 0 && none == 7, "takes length -1", module);
    }
}

int main(int count, char **words) {
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i + 1 < count; i += 2) {
            check(words[i], words[i + 1]);
        }
    }
    return 0;
}

#endif
