// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The device file: read, write, poll and splice, as random(4) has them. What ioctls
 * do is in ioctl.c.
 *
 * A large read is made page by page: between two pages it holds nothing, lets others
 * run, and looks for signals. So neither 4 GiB nor a slow fault in the destination
 * keeps anyone waiting.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/miscdevice.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

#include "device.h"
#include "internal.h"

/* Reads up to this length are made on the stack. */
#define SMALL_BYTES 256

/* Bytes on their way between a user and us. Wiped after use. */
struct chunk {
	u8 *bytes;
	size_t capacity;
	u8 small[SMALL_BYTES];
};

/* A page for what does not fit the stack; if there is none, the stack must do. */
static void chunk_init(struct chunk *chunk, size_t wanted)
{
	chunk->bytes = NULL;
	if (wanted > SMALL_BYTES)
		chunk->bytes = (u8 *)__get_free_page(GFP_KERNEL | __GFP_NOWARN);
	chunk->capacity = chunk->bytes ? PAGE_SIZE : SMALL_BYTES;
	if (!chunk->bytes)
		chunk->bytes = chunk->small;
}

static void chunk_exit(struct chunk *chunk)
{
	memzero_explicit(chunk->bytes, chunk->capacity);
	if (chunk->bytes != chunk->small)
		free_page((unsigned long)chunk->bytes);
}

/*
 * Between two chunks: whether to go on. The first page comes whole, whatever signals
 * are pending: programs rely on it that a read of a key is never short.
 */
static bool goes_on(size_t done)
{
	if (done % PAGE_SIZE)
		return true;
	if (signal_pending(current))
		return false;
	cond_resched();
	return true;
}

static ssize_t wait_until_seeded(const struct kiocb *iocb)
{
	if (likely(ws_phase() != WS_EMPTY))
		return 0;
	if (iocb->ki_flags & (IOCB_NOWAIT | IOCB_NOIO) ||
	    iocb->ki_filp->f_flags & O_NONBLOCK)
		return -EAGAIN;
	return wellspring_wait_until_seeded();
}

static ssize_t device_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct chunk chunk;
	size_t done = 0;
	ssize_t error;

	error = wait_until_seeded(iocb);
	if (error || !iov_iter_count(to))
		return error;
	chunk_init(&chunk, iov_iter_count(to));
	do {
		size_t bytes = min(iov_iter_count(to), chunk.capacity);
		size_t copied;

		error = wellspring_get_bytes(chunk.bytes, bytes);
		if (error)
			break;
		copied = copy_to_iter(chunk.bytes, bytes, to);
		done += copied;
		if (copied < bytes) {
			error = -EFAULT;
			break;
		}
	} while (iov_iter_count(to) && goes_on(done));
	chunk_exit(&chunk);
	return done ? done : error;
}

static ssize_t device_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	return ws_mix_user(from);
}

ssize_t ws_mix_user(struct iov_iter *from)
{
	struct chunk chunk;
	size_t done = 0;
	bool faulted = false;

	if (!iov_iter_count(from))
		return 0;
	chunk_init(&chunk, iov_iter_count(from));
	do {
		size_t bytes = min(iov_iter_count(from), chunk.capacity);
		size_t copied = copy_from_iter(chunk.bytes, bytes, from);

		if (copied)
			ws_mix(WS_SOURCE_MIX, chunk.bytes, copied, 0);
		done += copied;
		faulted = copied < bytes;
	} while (!faulted && iov_iter_count(from) && goes_on(done));
	chunk_exit(&chunk);
	return done ? done : -EFAULT;
}

static __poll_t device_poll(struct file *file, poll_table *wait)
{
	poll_wait(file, &ws_seeded_wait, wait);
	/* As random(4) has it: what needs a seed can be written to. */
	return ws_phase() != WS_EMPTY ? EPOLLIN | EPOLLRDNORM :
					EPOLLOUT | EPOLLWRNORM;
}

static int device_open(struct inode *inode, struct file *file)
{
	/* Before the seed, RWF_NOWAIT and io_uring get EAGAIN instead of a wait. */
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
