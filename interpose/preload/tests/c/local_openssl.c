/* An OpenSSL that only one module needs. Its bytes are all MARK, so that a test sees who answered. */
#include <string.h>

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
