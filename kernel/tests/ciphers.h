/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_TEST_CIPHERS_H
#define WELLSPRING_TEST_CIPHERS_H

#include <linux/types.h>

/*
 * Encrypts @count messages by AES-XTS, one at a time, directly or by a worker of cryptd. 0;
 * -ENOENT without wellspring_crypto or cryptd; or another negative errno.
 */
int measure_cipher(bool detour, unsigned int len, u32 count, u64 *ns);

#endif
