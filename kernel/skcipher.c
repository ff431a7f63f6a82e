// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * wellspring_crypto: AES in counter mode and in XTS for the crypto API, on the sections of
 * cipher.c. A module of its own: nothing here is random.
 *
 * Before Linux 6.16 the kernel's own SIMD ciphers cannot be called where the FPU is in use, as
 * in a softirq that interrupts a section. So they are asynchronous: crypto/simd.c hands such a
 * request to a worker (cryptd), and costs some time where it does not, in a task. Our sections keep
 * softirqs away, and a request is always answered by its caller: these ciphers are synchronous, in
 * tasks and softirqs.
 *
 * A section has at most a page, as the walk over a request gives it. Where the FPU is refused,
 * the library's scalar code makes the same bytes.
 */
#include <crypto/aes.h>
#include <crypto/algapi.h>
#include <crypto/gf128mul.h>
#include <crypto/internal/simd.h>
#include <crypto/internal/skcipher.h>
#include <crypto/scatterwalk.h>
#include <crypto/xts.h>
#include <linux/highmem.h>
#include <linux/kmsan-checks.h>
#include <linux/module.h>

#include "internal.h"

#define BLOCK_BYTES AES_BLOCK_SIZE

/* The tweak of XTS, or the counter as two words of the machine, the low one first. */
union state {
	u8 bytes[BLOCK_BYTES];
	le128 tweak;
	u64 words[2];
};

struct xts_keys {
	struct aes_key data;
	struct aes_key tweak;
};

/* A message in XTS: the tweak is made in the section of the first blocks. */
struct xts_message {
	const struct xts_keys *keys;
	bool encrypts;
	bool has_tweak;
	union state tweak;
};

/* Since 7.0 the library may expand a key by AES-NI, and leaves it in registers. */
static int expand_key(struct aes_key *expanded, const u8 *key, unsigned int keylen)
{
	struct ws_simd simd;
	int error;

	ws_simd_guard(&simd);
	error = aes_preparekey(expanded, key, keylen);
	ws_simd_unguard(&simd);
	return error;
}

static bool begin(struct ws_simd *simd)
{
#if defined(CONFIG_CRYPTO_SELFTESTS_FULL) || defined(CONFIG_CRYPTO_MANAGER_EXTRA_TESTS)
	/* Not crypto_simd_usable(): ws_simd_begin() counts where the FPU is refused. */
	if (this_cpu_read(crypto_simd_disabled_for_test))
		return false;
#endif
	return ws_simd_begin(simd);
}

static void counter_from(union state *counter, const u8 *iv)
{
	counter->words[0] = get_unaligned_be64(iv + 8);
	counter->words[1] = get_unaligned_be64(iv);
}

static void counter_to(const union state *counter, u8 *iv)
{
	put_unaligned_be64(counter->words[0], iv + 8);
	put_unaligned_be64(counter->words[1], iv);
}

/* In a section. */
static void ctr_simd(const struct aes_key *key, union state *counter, u8 *dst,
		     const u8 *src, unsigned int blocks)
{
	while (blocks) {
		u64 run = blocks, low = counter->words[0];

		/* -low is the number of blocks until the low word wraps. */
		if (low && run > -low)
			run = -low;
		ws_aes_ctr_blocks(ws_aes_round_keys(key), ws_aes_rounds(key), dst,
				  src, run, counter->bytes);
		/* It wrapped. The high word is the assembly's still. */
		counter->words[1] += !counter->words[0];
		dst += run * BLOCK_BYTES;
		src += run * BLOCK_BYTES;
		blocks -= run;
	}
}

static void ctr_scalar(const struct aes_key *key, union state *counter, u8 *dst,
		       const u8 *src, unsigned int blocks)
{
	u8 block[BLOCK_BYTES];

	for (; blocks; blocks--) {
		counter_to(counter, block);
		aes_encrypt(key, block, block);
		crypto_xor_cpy(dst, src, block, BLOCK_BYTES);
		counter->words[1] += !++counter->words[0];
		dst += BLOCK_BYTES;
		src += BLOCK_BYTES;
	}
	ws_wipe_stack();
	memzero_explicit(block, sizeof(block));
}

/* Only the last step of a message has a part of a block. */
static void ctr_step(const struct aes_key *key, union state *counter, u8 *dst,
		     const u8 *src, unsigned int len)
{
	unsigned int blocks = len / BLOCK_BYTES, rest = len % BLOCK_BYTES;
	u8 last[BLOCK_BYTES] = { };
	struct ws_simd simd;
	bool has_simd = begin(&simd);

	memcpy(last, src + len - rest, rest);
	(has_simd ? ctr_simd : ctr_scalar)(key, counter, dst, src, blocks);
	if (rest)
		(has_simd ? ctr_simd : ctr_scalar)(key, counter, last, last, 1);
	if (has_simd)
		ws_simd_end(&simd);
	/* KMSAN does not see what assembly writes. */
	kmsan_unpoison_memory(dst, len - rest);
	kmsan_unpoison_memory(last, sizeof(last));
	memcpy(dst + len - rest, last, rest);
	memzero_explicit(last, sizeof(last));
}

static int ctr_set_key(struct crypto_skcipher *cipher, const u8 *key, unsigned int keylen)
{
	return expand_key(crypto_skcipher_ctx(cipher), key, keylen);
}

static int ctr_crypt(struct skcipher_request *request)
{
	const struct aes_key *key = crypto_skcipher_ctx(crypto_skcipher_reqtfm(request));
	struct skcipher_walk walk;
	union state counter;
	int error = skcipher_walk_virt(&walk, request, false);

	counter_from(&counter, request->iv);
	while (walk.nbytes) {
		unsigned int len = walk.nbytes;

		if (len < walk.total)
			len = round_down(len, BLOCK_BYTES);
		ctr_step(key, &counter, walk.dst.virt.addr, walk.src.virt.addr, len);
		error = skcipher_walk_done(&walk, walk.nbytes - len);
	}
	counter_to(&counter, request->iv);
	return error;
}

/* In a section. */
static void xts_simd(struct xts_message *message, u8 *dst, const u8 *src,
		     unsigned int blocks)
{
	const struct aes_key *key = &message->keys->tweak;

	if (!message->has_tweak) {
		ws_aes_encrypt_block(ws_aes_round_keys(key), ws_aes_rounds(key),
				     message->tweak.bytes);
		kmsan_unpoison_memory(&message->tweak, sizeof(message->tweak));
	}
	key = &message->keys->data;
	if (message->encrypts)
		ws_aes_xts_encrypt_blocks(ws_aes_round_keys(key), ws_aes_rounds(key),
					  dst, src, blocks, message->tweak.bytes);
	else
		ws_aes_xts_decrypt_blocks(ws_aes_inverse_keys(key), ws_aes_rounds(key),
					  dst, src, blocks, message->tweak.bytes);
	kmsan_unpoison_memory(dst, blocks * BLOCK_BYTES);
}

static void xts_scalar(struct xts_message *message, u8 *dst, const u8 *src,
		       unsigned int blocks)
{
	union state *tweak = &message->tweak;

	if (!message->has_tweak)
		aes_encrypt(&message->keys->tweak, tweak->bytes, tweak->bytes);
	for (; blocks; blocks--) {
		crypto_xor_cpy(dst, src, tweak->bytes, BLOCK_BYTES);
		if (message->encrypts)
			aes_encrypt(&message->keys->data, dst, dst);
		else
			aes_decrypt(&message->keys->data, dst, dst);
		crypto_xor(dst, tweak->bytes, BLOCK_BYTES);
		gf128mul_x_ble(&tweak->tweak, &tweak->tweak);
		dst += BLOCK_BYTES;
		src += BLOCK_BYTES;
	}
	ws_wipe_stack();
}

static void xts_step(struct xts_message *message, u8 *dst, const u8 *src,
		     unsigned int blocks)
{
	struct ws_simd simd;

	if (begin(&simd)) {
		xts_simd(message, dst, src, blocks);
		ws_simd_end(&simd);
	} else {
		xts_scalar(message, dst, src, blocks);
	}
	message->has_tweak = true;
}

/* IEEE 1619, 5.3.2: the last whole block and the part of one after it, by ciphertext stealing. */
static void xts_steal(struct xts_message *message, u8 *bytes, unsigned int rest)
{
	u8 *second = bytes + BLOCK_BYTES, stolen[BLOCK_BYTES];
	union state first_tweak;

	if (!message->encrypts) {
		/* The first block has the second tweak here. */
		xts_step(message, stolen, second, 0);
		first_tweak = message->tweak;
		gf128mul_x_ble(&message->tweak.tweak, &message->tweak.tweak);
	}
	xts_step(message, bytes, bytes, 1);
	memcpy(stolen, second, rest);
	memcpy(stolen + rest, bytes + rest, BLOCK_BYTES - rest);
	memcpy(second, bytes, rest);
	if (!message->encrypts)
		message->tweak = first_tweak;
	xts_step(message, bytes, stolen, 1);
	memzero_explicit(stolen, sizeof(stolen));
	memzero_explicit(&first_tweak, sizeof(first_tweak));
}

static int xts_set_key(struct crypto_skcipher *cipher, const u8 *key, unsigned int keylen)
{
	struct xts_keys *keys = crypto_skcipher_ctx(cipher);

	return xts_verify_key(cipher, key, keylen) ?:
	       expand_key(&keys->data, key, keylen / 2) ?:
	       expand_key(&keys->tweak, key + keylen / 2, keylen / 2);
}

/* All whole blocks but the last one, if a part of one follows it. */
static int xts_whole_blocks(struct xts_message *message, struct skcipher_request *request,
			    unsigned int len)
{
	struct skcipher_request whole;
	struct skcipher_walk walk;
	int error;

	skcipher_request_set_tfm(&whole, crypto_skcipher_reqtfm(request));
	skcipher_request_set_callback(&whole, skcipher_request_flags(request), NULL, NULL);
	skcipher_request_set_crypt(&whole, request->src, request->dst, len, request->iv);
	error = skcipher_walk_virt(&walk, &whole, false);
	while (walk.nbytes) {
		unsigned int blocks = walk.nbytes / BLOCK_BYTES;

		xts_step(message, walk.dst.virt.addr, walk.src.virt.addr, blocks);
		error = skcipher_walk_done(&walk, walk.nbytes % BLOCK_BYTES);
	}
	return error;
}

/* Not inlined: CONFIG_INIT_STACK_ALL_ZERO clears the large frame of a walk at each call. */
static noinline int xts_walk(struct skcipher_request *request, bool encrypts)
{
	unsigned int rest = request->cryptlen % BLOCK_BYTES;
	unsigned int stealing = rest ? BLOCK_BYTES + rest : 0;
	struct xts_message message = {
		.keys = crypto_skcipher_ctx(crypto_skcipher_reqtfm(request)),
		.encrypts = encrypts,
	};
	u8 bytes[2 * BLOCK_BYTES];
	unsigned int whole;
	int error;

	if (request->cryptlen < BLOCK_BYTES)
		return -EINVAL;
	memcpy(message.tweak.bytes, request->iv, BLOCK_BYTES);
	whole = request->cryptlen - stealing;
	error = whole ? xts_whole_blocks(&message, request, whole) : 0;
	if (!error && stealing) {
		scatterwalk_map_and_copy(bytes, request->src, whole, stealing, 0);
		xts_steal(&message, bytes, rest);
		scatterwalk_map_and_copy(bytes, request->dst, whole, stealing, 1);
		memzero_explicit(bytes, sizeof(bytes));
	}
	memzero_explicit(&message, sizeof(message));
	return error;
}

static bool is_in_page(const struct scatterlist *list, unsigned int len)
{
	return list->length >= len && list->offset + len <= PAGE_SIZE;
}

/* Whole blocks within a page, as disks have them, need no walk. */
static void xts_in_page(struct skcipher_request *request, bool encrypts)
{
	const u8 *src = kmap_local_page(sg_page(request->src)) + request->src->offset;
	u8 *dst = kmap_local_page(sg_page(request->dst)) + request->dst->offset;
	struct xts_message message = {
		.keys = crypto_skcipher_ctx(crypto_skcipher_reqtfm(request)),
		.encrypts = encrypts,
	};

	memcpy(message.tweak.bytes, request->iv, BLOCK_BYTES);
	xts_step(&message, dst, src, request->cryptlen / BLOCK_BYTES);
	memzero_explicit(&message.tweak, sizeof(message.tweak));
	kunmap_local(dst);
	kunmap_local(src);
}

static int xts_crypt(struct skcipher_request *request, bool encrypts)
{
	unsigned int len = request->cryptlen;

	if (len && len % BLOCK_BYTES == 0 && is_in_page(request->src, len) &&
	    is_in_page(request->dst, len)) {
		xts_in_page(request, encrypts);
		return 0;
	}
	return xts_walk(request, encrypts);
}

static int xts_encrypt(struct skcipher_request *request)
{
	return xts_crypt(request, true);
}

static int xts_decrypt(struct skcipher_request *request)
{
	return xts_crypt(request, false);
}

/*
 * Below all of the kernel's own: the scalar ones have 100. A caller that asks
 * for "xts(aes)" gets what it would get without this module.
 */
#define PRIORITY 50

static struct skcipher_alg algorithms[] = {
	{
		.base.cra_name = "ctr(aes)",
		.base.cra_driver_name = "ctr-aes-wellspring",
		.base.cra_priority = PRIORITY,
		.base.cra_blocksize = 1,
		.base.cra_ctxsize = sizeof(struct aes_key),
		.base.cra_module = THIS_MODULE,
		.min_keysize = AES_MIN_KEY_SIZE,
		.max_keysize = AES_MAX_KEY_SIZE,
		.ivsize = BLOCK_BYTES,
		.chunksize = BLOCK_BYTES,
		.setkey = ctr_set_key,
		.encrypt = ctr_crypt,
		.decrypt = ctr_crypt,
	}, {
		.base.cra_name = "xts(aes)",
		.base.cra_driver_name = "xts-aes-wellspring",
		.base.cra_priority = PRIORITY,
		.base.cra_blocksize = BLOCK_BYTES,
		.base.cra_ctxsize = sizeof(struct xts_keys),
		.base.cra_module = THIS_MODULE,
		.min_keysize = 2 * AES_MIN_KEY_SIZE,
		.max_keysize = 2 * AES_MAX_KEY_SIZE,
		.ivsize = BLOCK_BYTES,
		.setkey = xts_set_key,
		.encrypt = xts_encrypt,
		.decrypt = xts_decrypt,
	},
};

static int __init wellspring_crypto_init(void)
{
	if (!ws_arch_has_aes_blocks())
		return -ENODEV;
	return crypto_register_skciphers(algorithms, ARRAY_SIZE(algorithms));
}

static void __exit wellspring_crypto_exit(void)
{
	crypto_unregister_skciphers(algorithms, ARRAY_SIZE(algorithms));
}

module_init(wellspring_crypto_init);
module_exit(wellspring_crypto_exit);
MODULE_DESCRIPTION("Synchronous AES-CTR and AES-XTS on wellspring's FPU sections");
MODULE_AUTHOR("The wellspring developers");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_IMPORT_NS(WS_NAMESPACE);
/* No alias: with one, any user would have the kernel load both modules by AF_ALG. */
