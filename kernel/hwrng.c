// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The source hwrng, which is off unless the parameter says on.
 *
 * hwrng offers no function to other modules. What it feeds to the kernel's own pool goes
 * through add_hwgenerator_randomness(), and a probe there sees it. A probe is no interface, it
 * costs a trap or a jump in the kernel's own code, and the source system has these bytes
 * already, hashed. So it is for those who do not trust the kernel's pool with them.
 */
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "arch-probes.h"
#include "hwrng.h"
#include "queue.h"

static bool hwrng;
module_param(hwrng, bool, 0444);
MODULE_PARM_DESC(hwrng, "hwrng is a source, by a kprobe; off (default): it reaches the kernel's own pool alone");

/* add_hwgenerator_randomness(buf, len, entropy, sleep_after) */
static int on_hwrng(struct kprobe *probe, struct pt_regs *regs)
{
	const void *buf = (const void *)regs_get_kernel_argument(regs, 0);
	size_t len = regs_get_kernel_argument(regs, 1);

	ws_queue_push(WS_SOURCE_HWRNG, buf, min_t(size_t, len, WS_EVENT_BYTES), 0);
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "add_hwgenerator_randomness",
	.pre_handler = on_hwrng,
};

static bool is_hooked;

/* A hook that cannot be placed means an absent source. It is no error. */
int ws_hwrng_init(void)
{
	is_hooked = hwrng && !register_kprobe(&probe);
	ws_source_set_present(WS_SOURCE_HWRNG, is_hooked);
	return 0;
}

void ws_hwrng_exit(void)
{
	if (is_hooked)
		unregister_kprobe(&probe);
}
