// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ioctls of uapi.h. Arguments are looked at in random(4)'s order, so that a
 * program that gets more than one of them wrong gets random(4)'s error.
 */
#include <linux/capability.h>
#include <linux/random.h>
#include <linux/uaccess.h>

#include "device.h"
#include "internal.h"
#include "uapi.h"

/* What is said of credit is at most this: the key's length, as in random(4). */
#define MAX_CREDIT_BITS 256

static long get_credit(int __user *argument)
{
	struct ws_node_statistics root;
	int bits = 0;

	if (ws_node_statistics(0, &root))
		bits = min_t(u64, root.credited_bits, MAX_CREDIT_BITS);
	return put_user(bits, argument);
}

/* Credit for what is in the pools already comes with an event of its own. */
static long add_credit(int __user *argument)
{
	int bits;

	if (get_user(bits, argument))
		return -EFAULT;
	if (bits < 0)
		return -EINVAL;
	ws_mix(WS_SOURCE_MIX, &bits, sizeof(bits), min(bits, MAX_CREDIT_BITS));
	return 0;
}

static long add_entropy(int __user *argument)
{
	struct iovec vector;
	struct iov_iter iter;
	int bits, bytes;
	long error;

	if (get_user(bits, argument++))
		return -EFAULT;
	if (bits < 0)
		return -EINVAL;
	if (get_user(bytes, argument++))
		return -EFAULT;
	error = ws_import_user(argument, bytes, &vector, &iter);
	if (error)
		return error;
	error = ws_mix_user(&iter);
	if (error < 0)
		return error;
	/* What is credited must have come whole. */
	if (error != bytes)
		return -EFAULT;
	ws_mix(WS_SOURCE_MIX, &bits, sizeof(bits), min(bits, MAX_CREDIT_BITS));
	return 0;
}

static long save(struct wellspring_seed __user *argument)
{
	struct wellspring_seed seed;
	long error;

	if (copy_from_user(&seed, argument, sizeof(seed)))
		return -EFAULT;
	seed.credit_bits = 0;
	error = ws_node_save(seed.node, seed.bytes, sizeof(seed.bytes));
	if (!error && copy_to_user(argument, &seed, sizeof(seed)))
		error = -EFAULT;
	memzero_explicit(&seed, sizeof(seed));
	return error;
}

static long restore(const struct wellspring_seed __user *argument)
{
	struct wellspring_seed seed;
	long error = -EINVAL;

	if (copy_from_user(&seed, argument, sizeof(seed)))
		return -EFAULT;
	if (seed.credit_bits <= MAX_CREDIT_BITS)
		error = ws_node_restore(seed.node, seed.bytes,
					sizeof(seed.bytes), seed.credit_bits);
	memzero_explicit(&seed, sizeof(seed));
	if (!error)
		ws_generation_bump();
	return error;
}

static long reseed(void)
{
	if (ws_phase() == WS_EMPTY)
		return -ENODATA;
	return ws_reseed();
}

static bool is_privileged(unsigned int command)
{
	switch (command) {
	case RNDADDTOENTCNT:
	case RNDADDENTROPY:
	case RNDZAPENTCNT:
	case RNDCLEARPOOL:
	case RNDRESEEDCRNG:
	case WELLSPRING_IOC_SAVE:
	case WELLSPRING_IOC_RESTORE:
		return true;
	default:
		return false;
	}
}

long ws_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	void __user *pointer = (void __user *)argument;

	if (is_privileged(command) && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	switch (command) {
	case RNDGETENTCNT:
		return get_credit(pointer);
	case RNDADDTOENTCNT:
		return add_credit(pointer);
	case RNDADDENTROPY:
		return add_entropy(pointer);
	case RNDZAPENTCNT:
	case RNDCLEARPOOL:
		return 0;
	case RNDRESEEDCRNG:
		return reseed();
	case WELLSPRING_IOC_SAVE:
		return save(pointer);
	case WELLSPRING_IOC_RESTORE:
		return restore(pointer);
	default:
		return -EINVAL;
	}
}
