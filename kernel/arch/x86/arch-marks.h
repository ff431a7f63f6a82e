/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * For tests. xchg %bx,%bx and xchg %cx,%cx: they change nothing, and no compiler makes them.
 */
#ifndef WELLSPRING_ARCH_MARKS_H
#define WELLSPRING_ARCH_MARKS_H

#define WS_ARCH_BEGIN_MARK ".byte 0x66, 0x87, 0xdb"
#define WS_ARCH_END_MARK ".byte 0x66, 0x87, 0xc9"

#endif
