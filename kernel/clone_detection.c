// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Clone detection: events after which another machine may have the same state as this
 * one. A virtual machine was cloned or restored (vmgenid), or a system resumed from an
 * image that may have been copied.
 *
 * The answer to each is that of a reseed: hash something new into every node, and bump
 * the generation, so that every tap takes a fresh key before its next byte.
 */
#include <linux/notifier.h>
#include <linux/random.h>
#include <linux/suspend.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>

#include "arch-random.h"
#include "compat.h"
#include "doors.h"
#include "nodes.h"

static const char domain[] = "wellspring node stir";

/*
 * The kernel's own generator is ahead of us: it mixes in the new id of the machine
 * before it calls the notifiers, and its own notifier of a resume is older than ours.
 */
static void diverge_from_clones(void)
{
	struct {
		u8 system[32];
		ktime_t time;
		u64 cycles;
	} fresh;

	memset(&fresh, 0, sizeof(fresh));
	get_random_bytes(fresh.system, sizeof(fresh.system));
	fresh.time = ktime_get_real();
	fresh.cycles = random_get_entropy();
	ws_nodes_stir(domain, 0, &fresh, sizeof(fresh), 0);
	memzero_explicit(&fresh, sizeof(fresh));
}

/*
 * The first thing after a resume, with one CPU and interrupts off: no task gets a byte
 * of a tap's old buffer. What the kernel's own generator gathers comes later, with the
 * notifier.
 */
static void system_resumed(void)
{
	struct {
		unsigned long word;
		ktime_t time;
		u64 cycles;
	} fresh;

	memset(&fresh, 0, sizeof(fresh));
	if (!ws_arch_seed_word(&fresh.word))
		fresh.word = 0;
	fresh.time = ktime_get_real();
	fresh.cycles = random_get_entropy();
	ws_nodes_stir(domain, 0, &fresh, sizeof(fresh), 0);
	memzero_explicit(&fresh, sizeof(fresh));
}

WS_DEFINE_RESUME(system_resumed);

static int vm_cloned(struct notifier_block *block, unsigned long action,
		     void *data)
{
	diverge_from_clones();
	return NOTIFY_DONE;
}

static int power_changed(struct notifier_block *block, unsigned long action,
			 void *data)
{
	switch (action) {
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		diverge_from_clones();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block vm_clone_notifier = {
	.notifier_call = vm_cloned,
};

static struct notifier_block power_notifier = {
	.notifier_call = power_changed,
};

int ws_clone_detection_init(void)
{
	int error;

	error = register_pm_notifier(&power_notifier);
	if (error)
		return error;
	/* Without CONFIG_VMGENID there are no such events, and this returns 0. */
	error = register_random_vmfork_notifier(&vm_clone_notifier);
	if (error) {
		unregister_pm_notifier(&power_notifier);
		return error;
	}
	ws_register_resume();
	return 0;
}

void ws_clone_detection_exit(void)
{
	ws_unregister_resume();
	unregister_random_vmfork_notifier(&vm_clone_notifier);
	unregister_pm_notifier(&power_notifier);
}
