/* One draw, in a program that any C library can compile. */
#include <sys/random.h>

int main(void) {
    unsigned char bytes[16];
    return getrandom(bytes, sizeof bytes, 0) != sizeof bytes;
}
