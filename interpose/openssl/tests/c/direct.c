/* OpenSSL 3.5 and later: the provider answers RAND_bytes itself, set by code. The argument is the folder with
 * wellspring.so. Draws 1 MiB and 2 times 16 bytes. */
#include "check.h"
#include <openssl/crypto.h>
#include <openssl/provider.h>

int main(int argc, char **argv) {
    CHECK(argc == 2);
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    CHECK(context != NULL && OSSL_PROVIDER_set_default_search_path(context, argv[1]) == 1);
    /* No other provider is loaded: without this one there are no bytes. */
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(context, "wellspring");
    CHECK(provider != NULL && RAND_set1_random_provider(context, provider) == 1);
    struct record records[2];
    CHECK(RAND_bytes_ex(context, (unsigned char *)&records[0], sizeof *records, 0) == 1);
    CHECK(RAND_priv_bytes_ex(context, (unsigned char *)&records[1], sizeof *records, 256) == 1);
    check_all_differ(records, 2);
    unsigned char *many = malloc(1 << 20), *volatile none = NULL;
    CHECK(many != NULL && RAND_bytes_ex(context, many, 1 << 20, 0) == 1);
    CHECK(RAND_bytes_ex(context, none, 0, 0) == 1 && RAND_bytes_ex(context, none, 16, 0) != 1);
    CHECK(RAND_bytes_ex(context, many, 16, 257) != 1);
    CHECK(RAND_bytes_ex(context, many, SIZE_MAX, 0) != 1);
    free(many);
    /* OpenSSL forgets its pointer to the provider when that is unloaded, and asks its own generators again. */
    CHECK(OSSL_PROVIDER_unload(provider) == 1);
    CHECK(RAND_bytes_ex(context, (unsigned char *)records, sizeof records, 0) != 1);
    OSSL_PROVIDER *usual = OSSL_PROVIDER_load(context, "default");
    CHECK(usual != NULL && RAND_bytes_ex(context, (unsigned char *)records, sizeof records, 0) == 1);
    OSSL_PROVIDER_unload(usual);
    OSSL_LIB_CTX_free(context);
    return 0;
}
