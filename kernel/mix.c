// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data that users and other modules write, on its way to the pools.
 *
 * Anyone may write as much and as fast as they like. So a writer never touches the
 * pools: it hashes its data into a state of its CPU. Once in a round the harvester
 * takes the hash of each CPU, 32 bytes, or leaves it for the next round if a writer
 * holds the lock. Nothing is lost, no sample of a source is displaced, and a flood costs
 * the harvester no more than 32 bytes per CPU and round. They make no reseed due. The
 * lock is held for STEP_BYTES, and only writers on the same CPU want it.
 */
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "memory.h"
#include "mix.h"
#include "simd.h"
#include "testing.h"

/* The most data that is hashed in one hold of the lock, with softirqs off. */
#define STEP_BYTES 512

struct mixer {
	spinlock_t lock;	/* for what follows; filled is read without it */
	bool filled;
	struct sha256_ctx hash;
};

static struct mixer __percpu *mixers;

static void mix_step(const void *data, size_t len)
{
	/* The task may move to another CPU here. The lock makes that safe. */
	struct mixer *mixer = raw_cpu_ptr(mixers);
	struct ws_simd simd;

	spin_lock_bh(&mixer->lock);
	ws_simd_guard(&simd);
	sha256_update(&mixer->hash, data, len);
	ws_simd_unguard(&simd);
	WRITE_ONCE(mixer->filled, true);
	spin_unlock_bh(&mixer->lock);
}

void ws_mix(const void *data, size_t len)
{
	while (len) {
		size_t step = min_t(size_t, len, STEP_BYTES);

		mix_step(data, step);
		data += step;
		len -= step;
	}
}
WS_EXPORT_FOR_TEST(ws_mix);

bool ws_mix_take(int cpu, bool may_wait, u8 digest[SHA256_DIGEST_SIZE])
{
	struct mixer *mixer = per_cpu_ptr(mixers, cpu);
	struct ws_simd simd;
	bool taken;

	/* No lock of a CPU without writers. Marked: a writer may come now. */
	if (!READ_ONCE(mixer->filled))
		return false;
	if (may_wait)
		spin_lock_bh(&mixer->lock);
	else if (!spin_trylock_bh(&mixer->lock))
		return false;
	taken = mixer->filled;
	if (taken) {
		ws_simd_guard(&simd);
		sha256_final(&mixer->hash, digest);
		ws_simd_unguard(&simd);
		sha256_init(&mixer->hash);
		WRITE_ONCE(mixer->filled, false);
	}
	spin_unlock_bh(&mixer->lock);
	return taken;
}

int ws_mix_init(void)
{
	int cpu;

	mixers = ws_step_fails() ? NULL : alloc_percpu(struct mixer);
	if (!mixers)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct mixer *mixer = per_cpu_ptr(mixers, cpu);

		spin_lock_init(&mixer->lock);
		sha256_init(&mixer->hash);
	}
	return 0;
}

void ws_mix_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memzero_explicit(per_cpu_ptr(mixers, cpu), sizeof(struct mixer));
	free_percpu(mixers);
}
