/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_HASH_H
#define WELLSPRING_HASH_H

#include "compat.h"

/*
 * SHAd-256 (FS&K 5.4.2): SHA256(SHA256(first | second | third)), written to @digest,
 * which may be one of the parts. A part of 0 bytes is empty.
 */
void ws_sha_d256(u8 digest[SHA256_DIGEST_SIZE], const void *first,
		 size_t first_bytes, const void *second, size_t second_bytes,
		 const void *third, size_t third_bytes);
/*
 * SHAd-256 of a domain, a node's number and a secret: what one secret gives to each node,
 * so that no two nodes ever have the same state.
 */
void ws_hash_for_node(u8 digest[SHA256_DIGEST_SIZE], const char *domain,
		      unsigned int number, const void *secret, size_t len);

#endif
