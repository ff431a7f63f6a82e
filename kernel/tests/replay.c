// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A private Fortuna that user space drives: the module's own pools and generator, with
 * the clock and the sources replaced. So the vector files of the project run through the
 * code that serves readers.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "test.h"

/* The longest read, so that a request cannot take all memory. */
#define MAX_READ_BYTES (1UL << 30)

/* For all files, because they all change the backend of the module. */
static DEFINE_MUTEX(replay_lock);

struct replay {
	bool begun;
	bool concurrent;
	enum ws_backend backend;
	struct ws_accumulator accumulator;
	struct ws_generator generator;
};

struct replay *replay_create(void)
{
	return kvzalloc(sizeof(struct replay), GFP_KERNEL);
}

void replay_destroy(struct replay *replay)
{
	kvfree(replay);
}

static void store_counter(const struct ws_counter *counter, u8 bytes[16])
{
	__le64 words[2] = { cpu_to_le64(counter->low),
			    cpu_to_le64(counter->high) };

	memcpy(bytes, words, sizeof(words));
}

static void load_counter(struct ws_counter *counter, const u8 bytes[16])
{
	__le64 words[2];

	memcpy(words, bytes, sizeof(words));
	counter->low = le64_to_cpu(words[0]);
	counter->high = le64_to_cpu(words[1]);
}

static long replay_begin(struct replay *replay,
			 const struct wellspring_replay_begin __user *argument)
{
	struct wellspring_replay_begin request;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	if (request.cipher >= WS_CIPHERS || request.backend >= WS_BACKENDS ||
	    request.concurrent > 1 || request.forced > 1)
		return -EINVAL;
	if (request.backend > ws_best_backend(request.cipher))
		return -EOPNOTSUPP;
	replay->begun = true;
	replay->concurrent = request.concurrent;
	replay->backend = request.backend;
	ws_accumulator_init(&replay->accumulator);
	ws_generator_init(&replay->generator, request.cipher);
	if (request.forced) {
		memcpy(replay->generator.key, request.key, WS_KEY_BYTES);
		load_counter(&replay->generator.counter, request.counter);
	}
	return 0;
}

static long replay_absorb(struct replay *replay,
			  const struct wellspring_replay_event __user *argument)
{
	struct wellspring_replay_event request;
	struct ws_event event = { .source = WS_SOURCE_MIX };
	struct ws_simd simd;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	if (request.bytes > WS_EVENT_BYTES || request.pool >= WS_POOLS)
		return -EINVAL;
	event.counter = request.counter;
	event.bytes = request.bytes;
	memcpy(event.data, request.data, request.bytes);
	ws_simd_guard(&simd);
	ws_accumulator_absorb(&replay->accumulator, &event, request.pool);
	ws_simd_unguard(&simd);
	return 0;
}

static long replay_reseed(struct replay *replay)
{
	struct ws_seed *seed = kzalloc(sizeof(*seed), GFP_KERNEL);

	if (!seed)
		return -ENOMEM;
	if (ws_accumulator_take_seed(&replay->accumulator, 0, true, seed))
		ws_generator_reseed(&replay->generator, seed->data,
				    seed->bytes);
	kfree_sensitive(seed);
	return 0;
}

static void read_generator(struct ws_generator *generator, bool concurrent,
			   u8 *buf, size_t len)
{
	struct ws_reservation reservation;

	do {
		size_t step = concurrent ? len :
			      ws_canonical_bytes(generator->cipher, len);

		ws_generator_reserve(generator, step, &reservation);
		ws_reservation_generate(&reservation, buf, step);
		buf += step;
		len -= step;
		cond_resched();
	} while (len);
}

static long replay_read(struct replay *replay,
			const struct wellspring_replay_read __user *argument)
{
	struct wellspring_replay_read request;
	long error = 0;
	u8 *buf;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	if (request.bytes > MAX_READ_BYTES)
		return -EINVAL;
	/* One byte more, because vmalloc(0) fails. */
	buf = vmalloc(request.bytes + 1);
	if (!buf)
		return -ENOMEM;
	read_generator(&replay->generator, replay->concurrent, buf, request.bytes);
	if (copy_to_user(u64_to_user_ptr(request.destination), buf,
			 request.bytes))
		error = -EFAULT;
	vfree(buf);
	return error;
}

static long replay_state(struct replay *replay,
			 struct wellspring_replay_state __user *argument)
{
	struct wellspring_replay_state answer = {
		.reseeds = replay->accumulator.reseeds,
		.first_pool_bytes = replay->accumulator.pools[0].bytes,
	};

	memcpy(answer.key, replay->generator.key, sizeof(answer.key));
	store_counter(&replay->generator.counter, answer.counter);
	return copy_to_user(argument, &answer, sizeof(answer)) ? -EFAULT : 0;
}

static long replay_dispatch(struct replay *replay, unsigned int command,
			    void __user *argument)
{
	switch (command) {
	case WELLSPRING_REPLAY_EVENT:
		return replay_absorb(replay, argument);
	case WELLSPRING_REPLAY_RESEED:
		return replay_reseed(replay);
	case WELLSPRING_REPLAY_READ:
		return replay_read(replay, argument);
	case WELLSPRING_REPLAY_STATE:
		return replay_state(replay, argument);
	default:
		return -ENOTTY;
	}
}

long replay_ioctl(struct replay *replay, unsigned int command,
		  void __user *argument)
{
	enum ws_cipher cipher = replay->generator.cipher;
	enum ws_backend before;
	long error;

	error = mutex_lock_interruptible(&replay_lock);
	if (error)
		return error;
	if (command == WELLSPRING_REPLAY_BEGIN) {
		error = replay_begin(replay, argument);
	} else if (!replay->begun) {
		error = -EINVAL;
	} else {
		before = ws_use_backend(cipher, replay->backend);
		error = replay_dispatch(replay, command, argument);
		ws_use_backend(cipher, before);
	}
	mutex_unlock(&replay_lock);
	return error;
}
