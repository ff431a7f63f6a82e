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
