// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The rng "wellspring" of the crypto API. It is not a "stdrng": only callers that ask
 * for it by name get it. In user space: AF_ALG with { type = "rng", name =
 * "wellspring" }.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <crypto/algapi.h>
#include <crypto/internal/rng.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/refcount.h>

#include "doors.h"
#include "memory.h"
#include "mix.h"
#include "wellspring.h"

#if IS_REACHABLE(CONFIG_CRYPTO_RNG2)

static int rng_generate(struct crypto_rng *rng, const u8 *src,
			unsigned int slen, u8 *dst, unsigned int dlen)
{
	if (slen)
		ws_mix(src, slen);
	return wellspring_get_bytes(dst, dlen);
}

/* All users share one state, so a seed does not set it: it is mixed in, uncredited. */
static int rng_seed(struct crypto_rng *rng, const u8 *seed, unsigned int slen)
{
	if (slen)
		ws_mix(seed, slen);
	return 0;
}

MODULE_ALIAS_CRYPTO("wellspring");

static struct rng_alg algorithm = {
	.generate = rng_generate,
	.seed = rng_seed,
	.seedsize = 0,
	.base = {
		.cra_name = "wellspring",
		.cra_driver_name = "wellspring-fortuna",
		.cra_priority = 100,
		.cra_module = THIS_MODULE,
	},
};

static bool is_registered;

/* Without it the module has one door less. That is no error: main.c says why. */
void ws_rng_init(void)
{
	int error = ws_step_fails() ? -ENOMEM : crypto_register_rng(&algorithm);

	is_registered = !error;
	if (error)
		pr_warn("no rng in the crypto API: error %d\n", error);
}

void ws_rng_exit(void)
{
	if (!is_registered)
		return;
	/*
	 * A module with users is not unloaded, so no user holds it here. But the crypto API
	 * tests it for a moment after the registration.
	 */
	while (refcount_read(&algorithm.base.cra_refcnt) > 1)
		fsleep(1000);
	crypto_unregister_rng(&algorithm);
}

#else

void ws_rng_init(void)
{
}

void ws_rng_exit(void)
{
}

#endif
