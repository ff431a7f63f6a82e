/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A read, in each of the four modes.
 */
#ifndef WELLSPRING_READ_H
#define WELLSPRING_READ_H

#include <linux/types.h>

enum ws_mode {
	WS_CANONICAL,		/* output is made under the root's lock */
	WS_CONCURRENT,		/* outside of it */
	WS_PER_NODE,		/* on the node of the reader's CPU */
	WS_PER_CPU,		/* from the reader's tap */
	WS_MODES,
};

enum ws_mode ws_mode(void);
const char *ws_mode_name(enum ws_mode mode);
/* wellspring_get_bytes() in a mode of the caller's choice. */
int ws_read(enum ws_mode mode, void *buf, size_t len);

#endif
