/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * For tests. Hints without a meaning: they change nothing, and no compiler makes them.
 */
#ifndef WELLSPRING_ARCH_MARKS_H
#define WELLSPRING_ARCH_MARKS_H

#define WS_ARCH_BEGIN_MARK "hint #0x70"
#define WS_ARCH_END_MARK "hint #0x71"

#endif
