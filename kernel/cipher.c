// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Keystreams, cut into FPU sections.
 */
#include <linux/bug.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "aes.h"
#include "chacha20.h"
#include "simd.h"
#include "trace.h"

static enum ws_path best_paths[WS_CIPHERS];

void ws_cipher_detect(void)
{
	best_paths[WS_AES256] = ws_aes_detect();
	best_paths[WS_CHACHA20] = WS_SIMD128;
}

enum ws_path ws_best_path(enum ws_cipher cipher)
{
	return best_paths[cipher];
}
WS_EXPORT_FOR_TEST(ws_best_path);

enum ws_path ws_path_use(enum ws_cipher cipher, enum ws_path path)
{
	enum ws_path before = READ_ONCE(best_paths[cipher]);

	WRITE_ONCE(best_paths[cipher], path);
	return before;
}
WS_EXPORT_FOR_TEST(ws_path_use);

const char *ws_cipher_name(enum ws_cipher cipher)
{
	return cipher == WS_AES256 ? "aes256" : "chacha20";
}

const char *ws_path_name(enum ws_cipher cipher, enum ws_path path)
{
	static const char *const names[WS_CIPHERS][WS_PATHS] = {
		[WS_AES256] = { "scalar", "aes-ni", "vaes" },
		[WS_CHACHA20] = { "scalar", "library", "none" },
	};

	return names[cipher][path];
}
WS_EXPORT_FOR_TEST(ws_path_name);

void ws_keystream_init(struct ws_keystream *keystream, enum ws_cipher cipher,
		       const u8 key[WS_KEY_BYTES],
		       const struct ws_counter *counter)
{
	keystream->cipher = cipher;
	keystream->path = best_paths[cipher];
	keystream->counter = *counter;
	if (cipher == WS_CHACHA20)
		memcpy(keystream->chacha_key, key, WS_KEY_BYTES);
	else	/* It fails for other lengths of the key. */
		WARN_ON_ONCE(aes_prepareenckey(&keystream->aes, key, WS_KEY_BYTES));
}
WS_EXPORT_FOR_TEST(ws_keystream_init);

void ws_keystream_fill(struct ws_keystream *keystream, void *destination,
		       size_t bytes)
{
	while (bytes) {
		unsigned int step = min_t(size_t, bytes, WS_SECTION_BYTES);
		bool as_wished;

		if (keystream->cipher == WS_CHACHA20)
			as_wished = ws_chacha20_fill(keystream, destination, step);
		else
			as_wished = ws_aes_fill(keystream, destination, step);
		if (!as_wished)
			trace_wellspring_refusal(step);
		ws_counter_add(&keystream->counter,
			       ws_blocks(keystream->cipher, step));
		destination += step;
		bytes -= step;
	}
}
WS_EXPORT_FOR_TEST(ws_keystream_fill);

void ws_keystream_wipe(struct ws_keystream *keystream)
{
	memzero_explicit(keystream, sizeof(*keystream));
}
WS_EXPORT_FOR_TEST(ws_keystream_wipe);
