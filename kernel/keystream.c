// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Keystreams, cut into pieces of one FPU section each.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "backend.h"
#include "chacha20.h"
#include "keystream.h"
#include "simd.h"
#include "testing.h"
#include "trace.h"

void ws_keystream_init(struct ws_keystream *keystream, enum ws_cipher cipher,
		       const u8 key[WS_KEY_BYTES],
		       const struct ws_counter *counter)
{
	keystream->cipher = cipher;
	keystream->backend = ws_best_backend(cipher);
	keystream->counter = *counter;
	if (cipher == WS_CHACHA20)
		memcpy(keystream->chacha_key, key, WS_KEY_BYTES);
	else
		ws_aes_key_init(&keystream->aes, key);
}
WS_EXPORT_FOR_TEST(ws_keystream_init);

void ws_keystream_fill(struct ws_keystream *keystream, void *buf, size_t len)
{
	const struct ws_counter *from = &keystream->counter;

	while (len) {
		unsigned int step = min_t(size_t, len, WS_SECTION_BYTES);
		bool refused;

		if (keystream->cipher == WS_CHACHA20)
			refused = !ws_chacha20_fill(keystream->chacha_key,
						    keystream->backend, from,
						    buf, step);
		else
			refused = !ws_aes_fill(&keystream->aes, keystream->backend,
					       from, buf, step);
		if (refused)
			trace_wellspring_refusal(step);
		ws_counter_add(&keystream->counter,
			       ws_blocks(keystream->cipher, step));
		buf += step;
		len -= step;
	}
}
WS_EXPORT_FOR_TEST(ws_keystream_fill);

void ws_keystream_wipe(struct ws_keystream *keystream)
{
	memzero_explicit(keystream, sizeof(*keystream));
}
WS_EXPORT_FOR_TEST(ws_keystream_wipe);
