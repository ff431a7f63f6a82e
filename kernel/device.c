// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The device file: read, write, poll and splice, as random(4) has them.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uio.h>

#include "bounce.h"
#include "compat.h"
#include "doors.h"
#include "ioctl.h"
#include "phase.h"
#include "wellspring.h"
#include "write.h"

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

static ssize_t device_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct ws_bounce bounce;
	size_t done = 0;
	ssize_t error;

	error = wait_until_seeded(iocb);
	if (error || !iov_iter_count(to))
		return error;
	ws_bounce_init(&bounce, iov_iter_count(to), flags_of(iocb));
	do {
		size_t len = min(iov_iter_count(to), bounce.capacity);
		size_t copied;

		error = wellspring_get_bytes(bounce.bytes, len);
		if (error)
			break;
		copied = copy_to_iter(bounce.bytes, len, to);
		done += copied;
		if (copied < len) {
			error = -EFAULT;
			break;
		}
	} while (iov_iter_count(to) && ws_bounce_continue(done));
	ws_bounce_exit(&bounce);
	return done ? done : error;
}

static ssize_t device_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	return ws_write(from, flags_of(iocb));
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
