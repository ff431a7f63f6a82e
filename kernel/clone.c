// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Two machines that were one: notices of a VM that was copied, and of a resume from
 * an image that may have been.
 *
 * Both do what a reseed does: stir something new into every node, and bump the
 * generation, so that every tap takes a fresh key before its next byte.
 */
#include <linux/notifier.h>
#include <linux/random.h>
#include <linux/suspend.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>

#include "internal.h"

/*
 * The kernel's own generator has heard of it first: it mixes the new VM's id before it
 * tells anyone else, and its notifier of a resume is older than ours.
 */
static void part(void)
{
	struct {
		u8 system[32];
		ktime_t time;
		u64 cycles;
	} fresh;

	memset(&fresh, 0, sizeof(fresh));
	get_random_bytes(fresh.system, sizeof(fresh.system));
	fresh.time = ktime_get_real();
	fresh.cycles = get_cycles();
	ws_nodes_stir(&fresh, sizeof(fresh));
	memzero_explicit(&fresh, sizeof(fresh));
}

static int vm_forked(struct notifier_block *block, unsigned long action,
		     void *data)
{
	part();
	return NOTIFY_DONE;
}

static int power_changed(struct notifier_block *block, unsigned long action,
			 void *data)
{
	switch (action) {
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		part();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block vm_fork_notifier = {
	.notifier_call = vm_forked,
};

static struct notifier_block power_notifier = {
	.notifier_call = power_changed,
};

int ws_clone_init(void)
{
	int error;

	error = register_pm_notifier(&power_notifier);
	if (error)
		return error;
	/* Without CONFIG_VMGENID the kernel is never told, and this says 0. */
	error = register_random_vmfork_notifier(&vm_fork_notifier);
	if (error)
		unregister_pm_notifier(&power_notifier);
	return error;
}

void ws_clone_exit(void)
{
	unregister_random_vmfork_notifier(&vm_fork_notifier);
	unregister_pm_notifier(&power_notifier);
}
