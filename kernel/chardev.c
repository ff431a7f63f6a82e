// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What users see: the device, its ioctls, and the rng of the crypto API.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <crypto/algapi.h>
#include <crypto/internal/rng.h>
#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/random.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "internal.h"
#include "uapi.h"

/* Transfers up to this length need no page. */
#define SMALL_BYTES 256

/* A bounce buffer, on the stack of the function that copies. */
struct bounce {
	u8 *bytes;
	size_t capacity;
	u8 small[SMALL_BYTES];
};

/*
 * A large transfer goes page by page. Between two pages it holds nothing, lets other
 * tasks run, and looks for signals. So neither a length of 4 GiB nor a slow page fault
 * in user memory makes others wait.
 *
 * A page for @wanted bytes, or the small buffer if there is no page. @flags: GFP_NOWAIT where it
 * must not sleep, else GFP_KERNEL.
 */
static void bounce_init(struct bounce *bounce, size_t wanted, gfp_t flags)
{
	bounce->bytes = NULL;
	if (wanted > SMALL_BYTES)
		bounce->bytes = (u8 *)__get_free_page(flags | __GFP_NOWARN);
	bounce->capacity = bounce->bytes ? PAGE_SIZE : SMALL_BYTES;
	if (!bounce->bytes)
		bounce->bytes = bounce->small;
}

static void bounce_exit(struct bounce *bounce)
{
	memzero_explicit(bounce->bytes, bounce->capacity);
	if (bounce->bytes != bounce->small)
		free_page((unsigned long)bounce->bytes);
}

/*
 * Between two pieces, after @done bytes: lets other tasks run. False if a signal is
 * pending and @done is a whole number of pages: the caller returns what it has.
 * A read of one page or less is never cut short: programs rely on that for keys.
 */
static bool bounce_continue(size_t done)
{
	if (done % PAGE_SIZE)
		return true;
	if (signal_pending(current))
		return false;
	cond_resched();
	return true;
}

/*
 * Mixes what a user writes, without credit. The bytes mixed, or -EFAULT if there were none.
 * @flags: as for bounce_init().
 */
static ssize_t write_iter(struct iov_iter *from, gfp_t flags)
{
	struct bounce bounce;
	bool faulted = false;
	size_t done = 0;

	if (!iov_iter_count(from))
		return 0;
	bounce_init(&bounce, iov_iter_count(from), flags);
	do {
		size_t len = min(iov_iter_count(from), bounce.capacity);
		size_t copied = copy_from_iter(bounce.bytes, len, from);

		if (copied)
			ws_mix(bounce.bytes, copied);
		done += copied;
		faulted = copied < len;
	} while (!faulted && iov_iter_count(from) && bounce_continue(done));
	bounce_exit(&bounce);
	return done ? done : -EFAULT;
}

/*
 * The ioctls of uapi.h. They look at their arguments in the order of random(4): a
 * program with two wrong arguments gets the same error as there.
 */

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
	ret = write_iter(&iter, GFP_KERNEL);
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

/*
 * The device file: read, write, poll and splice, as random(4) has them.
 */

static ssize_t wait_until_seeded(const struct kiocb *iocb)
{
	if (likely(ws_phase() == WS_READY))
		return 0;
	if (iocb->ki_flags & (IOCB_NOWAIT | IOCB_NOIO) ||
	    iocb->ki_filp->f_flags & O_NONBLOCK)
		return -EAGAIN;
	return wellspring_wait_until_seeded();
}

/* Calls by RWF_NOWAIT and io_uring may not sleep for memory: they get the small buffer. */
static gfp_t flags_of(const struct kiocb *iocb)
{
	return iocb->ki_flags & IOCB_NOWAIT ? GFP_NOWAIT : GFP_KERNEL;
}

/* Calls that may not sleep do not wait for the mutex of the mode canonical either. */
static int read_bytes(const struct kiocb *iocb, void *buf, size_t len)
{
	return iocb->ki_flags & IOCB_NOWAIT ? wellspring_get_bytes(buf, len) :
					      ws_read_sleeping(ws_mode(), buf, len);
}

static ssize_t device_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct bounce bounce;
	size_t done = 0;
	ssize_t error;

	error = wait_until_seeded(iocb);
	if (error || !iov_iter_count(to))
		return error;
	bounce_init(&bounce, iov_iter_count(to), flags_of(iocb));
	do {
		size_t len = min(iov_iter_count(to), bounce.capacity);
		size_t copied;

		error = read_bytes(iocb, bounce.bytes, len);
		if (error)
			break;
		copied = copy_to_iter(bounce.bytes, len, to);
		done += copied;
		if (copied < len) {
			error = -EFAULT;
			break;
		}
	} while (iov_iter_count(to) && bounce_continue(done));
	bounce_exit(&bounce);
	return done ? done : error;
}

static ssize_t device_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	return write_iter(from, flags_of(iocb));
}

static __poll_t device_poll(struct file *file, poll_table *wait)
{
	poll_wait(file, &ws_phase_wait, wait);
	/* Like random(4): before it is ready it can be written to, but not read. */
	return ws_phase() == WS_READY ? EPOLLIN | EPOLLRDNORM :
					EPOLLOUT | EPOLLWRNORM;
}

static int device_open(struct inode *inode, struct file *file)
{
	/* RWF_NOWAIT and io_uring get EAGAIN before it is ready. Writes never wait. */
	file->f_mode |= FMODE_NOWAIT;
	return 0;
}

static const struct file_operations device_operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.read_iter = device_read_iter,
	.write_iter = device_write_iter,
	.poll = device_poll,
	.unlocked_ioctl = ws_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
	.splice_read = ws_splice_read,
	.splice_write = iter_file_splice_write,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "wellspring",
	.mode = 0666,
	.fops = &device_operations,
};

int ws_device_init(void)
{
	return misc_register(&device);
}

void ws_device_exit(void)
{
	misc_deregister(&device);
}

/*
 * The rng "wellspring" of the crypto API. It is not a "stdrng": only callers that ask
 * for it by name get it. In user space: AF_ALG with { type = "rng", name =
 * "wellspring" }, where crypto.af_alg_restrict is 0; Linux 7.3 starts with 1, and then says
 * ENOENT to root too. There is no alias: with one, any user would have the kernel load this
 * module by AF_ALG.
 */

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

/* Without it the module has one door less. That is not an error: main.c says why. */
void ws_rng_init(void)
{
	int error = ws_step_fails() ? -ENOMEM : crypto_register_rng(&algorithm);

	is_registered = !error;
	if (error)
		pr_warn("no rng in the crypto API: error %d\n", error);
}

void ws_rng_exit(void)
{
	unsigned int tries = 5000;

	if (!is_registered)
		return;
	/*
	 * A module with users is not unloaded, so no user holds it here. But some kernels test it
	 * for a moment after the registration, and do not count that as a user. If it is held
	 * after seconds still, the kernel warns.
	 */
	while (refcount_read(&algorithm.base.cra_refcnt) > 1 && tries--)
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
