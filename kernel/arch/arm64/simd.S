/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * AES-256: key expansion, and counter mode with a little endian counter, by the instructions of
 * the Cryptographic Extension; and the end of a section, which wipes the registers. Registers of
 * counter mode:
 *
 *	x0	60 words of round keys
 *	x1	destination
 *	x2	blocks left
 *	x3	counter, low word; never wraps in one call
 *	x4	counter, high word
 *
 * All 15 round keys stay in v17 to v31, and eight blocks are made at the same time.
 */
#include <linux/linkage.h>

	.arch	armv8-a+crypto

/*
 * FIPS 197, 5.2: four words more, from the eight before them. v\previous is the
 * half before, v\half the half before v\previous; the new half replaces it.
 * SubWord is a round with the key 0 of four equal columns, whose ShiftRows
 * changes nothing.
 */
.macro expand half:req, previous:req, at:req, rcon
	dup	v2.4s, v\previous\().s[3]
	aese	v2.16b, v4.16b
	.ifnb	\rcon
	ushr	v3.4s, v2.4s, #8	/* RotWord */
	sli	v3.4s, v2.4s, #24
	movi	v2.4s, #\rcon
	eor	v2.16b, v2.16b, v3.16b
	.endif
	.rept	3
	ext	v3.16b, v4.16b, v\half\().16b, #12
	eor	v\half\().16b, v\half\().16b, v3.16b
	.endr
	eor	v\half\().16b, v\half\().16b, v2.16b
	str	q\half, [x0, #16 * \at]
.endm

/* x0: 60 words. The first 8 are the key. */
SYM_FUNC_START(ws_aes256_expand_ce)
	ldp	q0, q1, [x0]
	movi	v4.16b, #0
	expand	0, 1, 2, 0x01
	expand	1, 0, 3
	expand	0, 1, 4, 0x02
	expand	1, 0, 5
	expand	0, 1, 6, 0x04
	expand	1, 0, 7
	expand	0, 1, 8, 0x08
	expand	1, 0, 9
	expand	0, 1, 10, 0x10
	expand	1, 0, 11
	expand	0, 1, 12, 0x20
	expand	1, 0, 13
	expand	0, 1, 14, 0x40
	ret
SYM_FUNC_END(ws_aes256_expand_ce)

.macro on_blocks key:req, registers:vararg
	.irp	block, \registers
	aese	\block, \key
	aesmc	\block, \block
	.endr
.endm

/* Makes the next @count blocks, one in each of these registers. */
.macro encrypt count:req, registers:vararg
	.irp	block, \registers
	mov	\block, v16.16b
	add	v16.2d, v16.2d, v8.2d
	.endr
	.irp	key, v17.16b, v18.16b, v19.16b, v20.16b, v21.16b, v22.16b, v23.16b
	on_blocks \key, \registers
	.endr
	.irp	key, v24.16b, v25.16b, v26.16b, v27.16b, v28.16b, v29.16b
	on_blocks \key, \registers
	.endr
	.irp	block, \registers
	aese	\block, v30.16b
	eor	\block, \block, v31.16b
	st1	{\block}, [x1], #16
	.endr
	subs	x2, x2, #\count
.endm

SYM_FUNC_START(ws_aes256_ctr_ce)
	ld1	{v17.16b - v20.16b}, [x0], #64
	ld1	{v21.16b - v24.16b}, [x0], #64
	ld1	{v25.16b - v28.16b}, [x0], #64
	ld1	{v29.16b - v31.16b}, [x0]
	fmov	d16, x3
	mov	v16.d[1], x4
	mov	x5, #1
	fmov	d8, x5
	subs	x2, x2, #8
	b.lo	.Lrest
.Leight:
	encrypt	8, v0.16b, v1.16b, v2.16b, v3.16b, v4.16b, v5.16b, v6.16b, v7.16b
	b.hs	.Leight
.Lrest:
	adds	x2, x2, #8
	b.eq	.Ldone
.Lone:
	encrypt	1, v0.16b
	b.ne	.Lone
.Ldone:
	ret
SYM_FUNC_END(ws_aes256_ctr_ce)

/* A write to a register of NEON clears the rest of the SVE register. */
SYM_FUNC_START(ws_arch_simd_wipe)
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movi	v\i\().2d, #0
	.endr
	.irp	i, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	movi	v\i\().2d, #0
	.endr
	ret
SYM_FUNC_END(ws_arch_simd_wipe)
