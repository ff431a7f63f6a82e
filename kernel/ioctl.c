// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ioctls of uapi.h. They look at their arguments in the order of random(4): a
 * program with two wrong arguments gets the same error as there.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "harvester.h"
#include "ioctl.h"
#include "nodes.h"
#include "phase.h"
#include "testing.h"
#include "uapi.h"
#include "wellspring.h"
#include "write.h"

/* No more credit is reported or accepted: the bits of a key, as in random(4). */
#define MAX_CREDIT_BITS 256

static long get_credit(int __user *argument)
{
	struct ws_node_statistics root;
	int bits = 0;

	if (ws_nodes_statistics(0, &root))
		bits = min_t(u64, root.credited_bits, MAX_CREDIT_BITS);
	return put_user(bits, argument);
}

/* Credit for what was written before. */
static long add_credit(int __user *argument)
{
	int bits;

	if (get_user(bits, argument))
		return -EFAULT;
	if (bits < 0)
		return -EINVAL;
	if (bits)
		ws_credit(min(bits, MAX_CREDIT_BITS));
	return 0;
}

int ws_ioctl_credit_bits(int bits, int len)
{
	/* Without the inner limit, 256 MiB would overflow. */
	return min3(bits, 8 * min(len, MAX_CREDIT_BITS), MAX_CREDIT_BITS);
}
WS_EXPORT_FOR_TEST(ws_ioctl_credit_bits);

static long add_entropy(int __user *argument)
{
	struct iov_iter iter;
	int bits, len;
	long ret;

	if (get_user(bits, argument++))
		return -EFAULT;
	if (bits < 0)
		return -EINVAL;
	if (get_user(len, argument++))
		return -EFAULT;
	/* Copying looks at the addresses. A negative length is a long one, as in random(4). */
	iov_iter_ubuf(&iter, ITER_SOURCE, argument, min_t(size_t, len, MAX_RW_COUNT));
	ret = ws_write(&iter, GFP_KERNEL);
	if (ret < 0)
		return ret;
	/* Credit is only for data that came completely. */
	if (ret != len)
		return -EFAULT;
	bits = ws_ioctl_credit_bits(bits, len);
	if (bits)
		ws_credit(bits);
	return 0;
}

static long save_node(struct wellspring_seed __user *argument)
{
	struct wellspring_seed seed;
	long error;

	if (copy_from_user(&seed, argument, sizeof(seed)))
		return -EFAULT;
	seed.credit_bits = 0;
	error = ws_nodes_save(seed.node, seed.bytes, sizeof(seed.bytes));
	if (!error && copy_to_user(argument, &seed, sizeof(seed)))
		error = -EFAULT;
	memzero_explicit(&seed, sizeof(seed));
	return error;
}

static long restore_node(const struct wellspring_seed __user *argument)
{
	struct wellspring_seed seed;
	long error = -EINVAL;

	if (copy_from_user(&seed, argument, sizeof(seed)))
		return -EFAULT;
	if (seed.credit_bits <= MAX_CREDIT_BITS)
		error = ws_restore(seed.node, seed.bytes, seed.credit_bits);
	memzero_explicit(&seed, sizeof(seed));
	/* Before Ready it may be kept for a seed of 128 bits. */
	return error == -EAGAIN ? 0 : error;
}

static long reseed_nodes(void)
{
	if (ws_phase() != WS_READY)
		return -ENODATA;
	return ws_reseed();
}

static long get_early(struct wellspring_early __user *argument)
{
	struct wellspring_early early;
	long error = wellspring_get_early_bytes(early.bytes, sizeof(early.bytes));

	if (!error && copy_to_user(argument, &early, sizeof(early)))
		error = -EFAULT;
	memzero_explicit(&early, sizeof(early));
	return error;
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
		return reseed_nodes();
	case WELLSPRING_IOC_SAVE:
		return save_node(pointer);
	case WELLSPRING_IOC_RESTORE:
		return restore_node(pointer);
	case WELLSPRING_IOC_EARLY:
		return get_early(pointer);
	default:
		return -EINVAL;
	}
}
WS_EXPORT_FOR_TEST(ws_ioctl);
