/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/wellspring, for programs.
 *
 * read, poll, splice and write behave as for random(4): a read waits until
 * 128 bits are credited (EAGAIN with O_NONBLOCK), returns its first 4096 bytes
 * whole, and after them returns what it has if a signal comes; a write is mixed
 * in and earns no credit.
 *
 * These ioctls of <linux/random.h>, with its numbers, arguments and errors:
 *
 *	RNDGETENTCNT	bits of credit that node 0 has received, at most 256
 *	RNDADDTOENTCNT	credits what was written before; CAP_SYS_ADMIN
 *	RNDADDENTROPY	mixes and credits; without credit like a write;
 *			CAP_SYS_ADMIN
 *	RNDZAPENTCNT, RNDCLEARPOOL
 *			change nothing, as in Linux since 5.18; CAP_SYS_ADMIN
 *	RNDRESEEDCRNG	reseeds; CAP_SYS_ADMIN; ENODATA until 128 bits are credited
 *
 * Credit, RNDRESEEDCRNG and a restore are orders: when one returns, every node has the
 * new seed, and no read that begins then returns a byte that does not depend on it.
 * Until 128 bits are credited, such a seed is kept back until it has 128 bits. The
 * first one is the exception: it serves WELLSPRING_IOC_EARLY, and its credit does not
 * count.
 *
 * In a machine that was cloned without a notice to its kernel, an order with a secret is
 * RNDADDENTROPY with the secret and without credit, then RNDRESEEDCRNG: the order waits for
 * what was written, so that nothing of the secret is lost.
 *
 * The ioctls below are the device's own. Any other returns EINVAL, as in random(4), not
 * ENOTTY.
 */
#ifndef WELLSPRING_UAPI_H
#define WELLSPRING_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * <linux/random.h> has the same letter, with 00-1F: programs use both on the
 * same file. In ioctl-number.rst of Linux 7.3 no other header has R with 60-7F.
 */

/* Bytes of a node's seed: a key's length. */
#define WELLSPRING_SEED_BYTES 32

/**
 * struct wellspring_seed - the seed of one node, to carry over a reboot
 * @node:	the number of the node, from 0
 * @credit_bits: restore: the credit of the seed, at most 256, and 0 for a seed
 *		that may have been used before; save: 0
 * @bytes:	the seed
 */
struct wellspring_seed {
	__u32 node;
	__u32 credit_bits;
	__u8 bytes[WELLSPRING_SEED_BYTES];
};

/*
 * Fills in @bytes from the generator of @node, which then takes a new key: the
 * seed does not reveal earlier output. CAP_SYS_ADMIN. EAGAIN until 128
 * bits are credited; ENODATA if this number has no node; ENXIO past the last number.
 */
#define WELLSPRING_IOC_SAVE	_IOWR('R', 0x60, struct wellspring_seed)

/*
 * Mixes @bytes, which @node saved, into the pools, and reseeds every node, as above.
 * CAP_SYS_ADMIN. EINVAL for more credit than 256; ENODATA and ENXIO as above.
 */
#define WELLSPRING_IOC_RESTORE	_IOW('R', 0x61, struct wellspring_seed)

/* Bytes that may not be secret yet, enough to seed something with. */
struct wellspring_early {
	__u8 bytes[WELLSPRING_SEED_BYTES];
};

/*
 * In the sense of GRND_INSECURE: works from the first credited seed on, when
 * reads still wait for 128 bits. Never for keys. EAGAIN before that seed.
 */
#define WELLSPRING_IOC_EARLY	_IOR('R', 0x62, struct wellspring_early)

#endif
