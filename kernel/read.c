// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A read in each of the four modes, and the parameters that choose the mode.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "backend.h"
#include "nodes.h"
#include "phase.h"
#include "read.h"
#include "tap.h"
#include "testing.h"
#include "wellspring.h"

static const char *const mode_names[WS_MODES] = {
	[WS_CANONICAL] = "canonical",
	[WS_CONCURRENT] = "concurrent",
	[WS_PER_NODE] = "per-node",
	[WS_PER_CPU] = "per-cpu",
};

static enum ws_mode mode = WS_PER_CPU;

enum ws_mode ws_mode(void)
{
	return READ_ONCE(mode);
}

const char *ws_mode_name(enum ws_mode mode)
{
	return mode_names[mode];
}
WS_EXPORT_FOR_TEST(ws_mode_name);

static int set_mode(const char *value, const struct kernel_param *parameter)
{
	int ret = sysfs_match_string(mode_names, value);

	if (ret < 0)
		return ret;
	WRITE_ONCE(mode, ret);
	return 0;
}

static int get_mode(char *buf, const struct kernel_param *parameter)
{
	return sysfs_emit(buf, "%s\n", mode_names[ws_mode()]);
}

static const struct kernel_param_ops mode_ops = {
	.set = set_mode,
	.get = get_mode,
};
module_param_cb(mode, &mode_ops, NULL, 0644);
MODULE_PARM_DESC(mode,
		 "canonical: the root's lock for each 4096 bytes; concurrent: for each read; "
		 "per-node: on the node of the reader's CPU; per-cpu: from its tap (default)");

/* FreeBSD's knob: 0 is canonical, 1 is any other mode. */
static int set_concurrent_read(const char *value,
			       const struct kernel_param *parameter)
{
	bool concurrent;
	int error = kstrtobool(value, &concurrent);

	if (error)
		return error;
	if (!concurrent)
		WRITE_ONCE(mode, WS_CANONICAL);
	else if (ws_mode() == WS_CANONICAL)
		WRITE_ONCE(mode, WS_CONCURRENT);
	return 0;
}

static int get_concurrent_read(char *buf, const struct kernel_param *parameter)
{
	return sysfs_emit(buf, "%d\n", ws_mode() != WS_CANONICAL);
}

static const struct kernel_param_ops concurrent_read_ops = {
	.set = set_concurrent_read,
	.get = get_concurrent_read,
};
module_param_cb(concurrent_read, &concurrent_read_ops, NULL, 0644);
MODULE_PARM_DESC(concurrent_read,
		 "0: mode=canonical; 1: mode=concurrent, or no change if the mode is not canonical");

static int read_reserved(bool root, void *buf, size_t len)
{
	struct ws_reservation reservation;
	int error = ws_nodes_reserve(root, len, &reservation);

	if (!error)
		ws_reservation_generate(&reservation, buf, len);
	return error;
}

static int read_canonical(u8 *buf, size_t len)
{
	do {
		size_t step = ws_canonical_bytes(ws_cipher, len);
		int error = read_reserved(true, buf, step);

		if (error)
			return error;
		buf += step;
		len -= step;
	} while (len);
	return 0;
}

int ws_read(enum ws_mode mode, void *buf, size_t len)
{
	if (likely(mode == WS_PER_CPU && ws_tap_take(buf, len)))
		return 0;
	if (in_nmi())
		return -EOPNOTSUPP;
	if (unlikely(ws_phase() != WS_READY))
		return -EAGAIN;
	switch (mode) {
	case WS_CANONICAL:
		return read_canonical(buf, len);
	case WS_CONCURRENT:
		return read_reserved(true, buf, len);
	case WS_PER_NODE:
		return read_reserved(false, buf, len);
	default:
		return ws_tap_read(buf, len);
	}
}
WS_EXPORT_FOR_TEST(ws_read);

/**
 * wellspring_get_bytes() - secret bytes
 * @buf: kernel memory for the bytes
 * @len: how many bytes
 *
 * Output of Fortuna (Ferguson, Schneier and Kohno, Cryptography Engineering,
 * chapter 9) with AES-256 or ChaCha20: by default from the tap of this CPU and
 * context, without a lock. After the call returns, nothing in the kernel can compute
 * what it returned. It never sleeps and never waits for a seed. A caller that can sleep
 * calls wellspring_wait_until_seeded() once, before its first read.
 *
 * It does not yield the CPU: ask for megabytes in pieces, and for little with
 * interrupts off.
 *
 * Context: Task, softirq and hard interrupt, with any lock held. Not NMI.
 * Return: 0; -EAGAIN until 128 bits are credited; -EOPNOTSUPP in an NMI. After an error
 * the content of @buf is undefined.
 */
int wellspring_get_bytes(void *buf, size_t len)
{
	return ws_read(ws_mode(), buf, len);
}
EXPORT_SYMBOL_GPL(wellspring_get_bytes);

/**
 * wellspring_get_early_bytes() - bytes that may not be secret yet
 * @buf: kernel memory for the bytes
 * @len: how many bytes
 *
 * In the sense of GRND_INSECURE: with less than 128 bits of credit, but more than none,
 * the bytes are made by node 0. For hash tables and the like, never for keys. Later it
 * is wellspring_get_bytes().
 *
 * Context: as wellspring_get_bytes().
 * Return: 0; -EAGAIN before the first credited seed; -EOPNOTSUPP in an NMI.
 */
int wellspring_get_early_bytes(void *buf, size_t len)
{
	if (in_nmi())
		return -EOPNOTSUPP;
	if (ws_phase() == WS_READY)
		return wellspring_get_bytes(buf, len);
	return read_reserved(true, buf, len);
}
EXPORT_SYMBOL_GPL(wellspring_get_early_bytes);

/**
 * wellspring_wait_until_seeded() - wait until 128 bits are credited
 *
 * Usually that is so when the module has been loaded.
 *
 * Context: Task; may sleep.
 * Return: 0, or -ERESTARTSYS if a signal came first.
 */
int wellspring_wait_until_seeded(void)
{
	return wait_event_interruptible(ws_phase_wait, ws_phase() == WS_READY);
}
EXPORT_SYMBOL_GPL(wellspring_wait_until_seeded);
