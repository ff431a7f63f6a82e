// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The phase, and the queue of those that wait for it.
 *
 * Node 0 says Early, under its lock, when it takes its first credited seed: often in
 * a reader, which may be a hard interrupt and must not wake anyone. So the waking is a
 * call of its own, made by the harvester and by ioctls.
 */
#include <linux/atomic.h>
#include <linux/sched.h>

#include "phase.h"
#include "testing.h"

DECLARE_WAIT_QUEUE_HEAD(ws_phase_wait);

static atomic_t current_phase = ATOMIC_INIT(WS_EMPTY);

enum ws_phase ws_phase(void)
{
	return atomic_read_acquire(&current_phase);
}
WS_EXPORT_FOR_TEST(ws_phase);

const char *ws_phase_name(enum ws_phase phase)
{
	static const char *const names[] = {
		[WS_EMPTY] = "empty",
		[WS_EARLY] = "early",
		[WS_READY] = "ready",
	};

	return names[phase];
}

void ws_phase_advance(enum ws_phase next)
{
	int old = atomic_read(&current_phase);

	while (old < (int)next &&
	       !atomic_try_cmpxchg_release(&current_phase, &old, next))
		;
}

void ws_phase_announce(void)
{
	static atomic_t announced = ATOMIC_INIT(WS_EMPTY);
	int phase = ws_phase();

	if (atomic_xchg(&announced, phase) != phase)
		wake_up_all(&ws_phase_wait);
}
