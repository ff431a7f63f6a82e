// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which cipher was chosen, and which backends this CPU has.
 */
#include <linux/errno.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#include "arch-aes.h"
#include "arch-chacha20.h"
#include "backend.h"
#include "testing.h"

enum ws_cipher ws_cipher = WS_CHACHA20;
WS_EXPORT_FOR_TEST(ws_cipher);

static char *cipher = "chacha20";
module_param(cipher, charp, 0444);
MODULE_PARM_DESC(cipher, "chacha20 (default) or aes256");

static enum ws_backend best_backends[WS_CIPHERS];

enum ws_backend ws_best_backend(enum ws_cipher cipher)
{
	return READ_ONCE(best_backends[cipher]);
}
WS_EXPORT_FOR_TEST(ws_best_backend);

enum ws_backend ws_use_backend(enum ws_cipher cipher, enum ws_backend backend)
{
	enum ws_backend before = READ_ONCE(best_backends[cipher]);

	WRITE_ONCE(best_backends[cipher], backend);
	return before;
}
WS_EXPORT_FOR_TEST(ws_use_backend);

const char *ws_cipher_name(enum ws_cipher cipher)
{
	return cipher == WS_AES256 ? "aes256" : "chacha20";
}

const char *ws_backend_name(enum ws_cipher cipher, enum ws_backend backend)
{
	static const char *const names[WS_CIPHERS][WS_BACKENDS] = {
		[WS_AES256] = { "scalar", WS_ARCH_AES_NAMES },
		[WS_CHACHA20] = { "scalar", "library", "none" },
	};

	return names[cipher][backend];
}
WS_EXPORT_FOR_TEST(ws_backend_name);

int ws_backends_init(void)
{
	if (!strcmp(cipher, ws_cipher_name(WS_AES256)))
		ws_cipher = WS_AES256;
	else if (strcmp(cipher, ws_cipher_name(WS_CHACHA20)))
		return -EINVAL;
	ws_arch_chacha20_init();
	best_backends[WS_AES256] = ws_arch_aes_detect();
	best_backends[WS_CHACHA20] = WS_SIMD128;
	return 0;
}
