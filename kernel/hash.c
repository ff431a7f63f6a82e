// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <asm/byteorder.h>
#include <linux/string.h>

#include "hash.h"
#include "simd.h"

void ws_sha_d256(u8 digest[SHA256_DIGEST_SIZE], const void *first,
		 size_t first_bytes, const void *second, size_t second_bytes,
		 const void *third, size_t third_bytes)
{
	struct sha256_ctx hash;
	struct ws_simd simd;

	ws_simd_guard(&simd);
	sha256_init(&hash);
	sha256_update(&hash, first, first_bytes);
	sha256_update(&hash, second, second_bytes);
	sha256_update(&hash, third, third_bytes);
	sha256_final(&hash, digest);
	sha256(digest, SHA256_DIGEST_SIZE, digest);
	ws_simd_unguard(&simd);
	memzero_explicit(&hash, sizeof(hash));
}

void ws_hash_for_node(u8 digest[SHA256_DIGEST_SIZE], const char *domain,
		      unsigned int number, const void *secret, size_t len)
{
	__le64 of_node = cpu_to_le64(number);

	ws_sha_d256(digest, domain, strlen(domain), &of_node, sizeof(of_node),
		    secret, len);
}
