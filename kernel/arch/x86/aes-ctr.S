/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * AES-256: key expansion, and counter mode with a little endian counter. Registers of the
 * latter:
 *
 *	%rdi	60 words of round keys
 *	%rsi	destination
 *	%rdx	blocks left
 *	%rcx	counter, low word; never wraps in one call
 *	%r8	counter, high word
 *
 * A CPU starts one or two AES rounds per cycle, and each takes 3 to 8 cycles: eight
 * blocks at the same time keep it busy. Keys and output stay in the registers: the end of
 * the section wipes them.
 */
#include <linux/linkage.h>

/*
 * FIPS 197, 5.2: four words more, from the eight before them. @previous is the
 * half before, @half the half before @previous; the new half replaces it. @word
 * has what the first is mixed with.
 */
.macro expand half:req, previous:req, rcon:req, word:req, at:req
	aeskeygenassist $\rcon, \previous, %xmm2
	pshufd	$\word, %xmm2, %xmm2
	.rept	3
	movdqa	\half, %xmm3
	pslldq	$4, %xmm3
	pxor	%xmm3, \half
	.endr
	pxor	%xmm2, \half
	movdqu	\half, 16 * \at(%rdi)
.endm

/* %rdi: 60 words. The first 8 are the key. */
SYM_FUNC_START(ws_aes256_expand_ni)
	movdqu	(%rdi), %xmm0
	movdqu	16(%rdi), %xmm1
	expand	%xmm0, %xmm1, 0x01, 0xff, 2
	expand	%xmm1, %xmm0, 0x00, 0xaa, 3
	expand	%xmm0, %xmm1, 0x02, 0xff, 4
	expand	%xmm1, %xmm0, 0x00, 0xaa, 5
	expand	%xmm0, %xmm1, 0x04, 0xff, 6
	expand	%xmm1, %xmm0, 0x00, 0xaa, 7
	expand	%xmm0, %xmm1, 0x08, 0xff, 8
	expand	%xmm1, %xmm0, 0x00, 0xaa, 9
	expand	%xmm0, %xmm1, 0x10, 0xff, 10
	expand	%xmm1, %xmm0, 0x00, 0xaa, 11
	expand	%xmm0, %xmm1, 0x20, 0xff, 12
	expand	%xmm1, %xmm0, 0x00, 0xaa, 13
	expand	%xmm0, %xmm1, 0x40, 0xff, 14
	RET
SYM_FUNC_END(ws_aes256_expand_ni)

#define COUNTER	%xmm8
#define STEP	%xmm9
#define KEY	%xmm10

/* Makes the next @count blocks, one in each of the registers xmm\numbers. */
.macro encrypt count:req, numbers:vararg
	.irp	i, \numbers
	movdqa	COUNTER, %xmm\i
	paddq	STEP, COUNTER
	.endr
	movdqu	(%rdi), KEY
	.irp	i, \numbers
	pxor	KEY, %xmm\i
	.endr
	.irp	round, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
	movdqu	16 * \round(%rdi), KEY
	.irp	i, \numbers
	aesenc	KEY, %xmm\i
	.endr
	.endr
	movdqu	16 * 14(%rdi), KEY
	.irp	i, \numbers
	aesenclast KEY, %xmm\i
	movdqu	%xmm\i, 16 * \i(%rsi)
	.endr
	add	$16 * \count, %rsi
	sub	$\count, %rdx
.endm

SYM_FUNC_START(ws_aes256_ctr_ni)
	movq	%rcx, COUNTER
	pinsrq	$1, %r8, COUNTER
	mov	$1, %eax
	movq	%rax, STEP
	cmp	$8, %rdx
	jb	.Lrest
.Leight:
	encrypt	8, 0, 1, 2, 3, 4, 5, 6, 7
	cmp	$8, %rdx
	jae	.Leight
.Lrest:
	test	%rdx, %rdx
	jz	.Ldone
.Lone:
	encrypt	1, 0
	jnz	.Lone
.Ldone:
	RET
SYM_FUNC_END(ws_aes256_ctr_ni)

#define WIDE_COUNTER	%ymm8
#define WIDE_STEP	%ymm9
#define WIDE_KEY	%ymm10

.macro on_wide_blocks instruction:req
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7
	\instruction WIDE_KEY, %ymm\i, %ymm\i
	.endr
.endm

/* Two blocks in each register, sixteen in each turn of the loop. */
SYM_FUNC_START(ws_aes256_ctr_vaes)
	vmovq	%rcx, COUNTER
	vpinsrq	$1, %r8, COUNTER, COUNTER
	mov	$1, %eax
	vmovq	%rax, STEP
	vpaddq	STEP, COUNTER, %xmm0
	vinserti128 $1, %xmm0, WIDE_COUNTER, WIDE_COUNTER
	vpaddq	STEP, STEP, STEP
	vinserti128 $1, STEP, WIDE_STEP, WIDE_STEP
.Lsixteen:
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7
	vmovdqa	WIDE_COUNTER, %ymm\i
	vpaddq	WIDE_STEP, WIDE_COUNTER, WIDE_COUNTER
	.endr
	vbroadcasti128 (%rdi), WIDE_KEY
	on_wide_blocks vpxor
	.irp	round, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
	vbroadcasti128 16 * \round(%rdi), WIDE_KEY
	on_wide_blocks vaesenc
	.endr
	vbroadcasti128 16 * 14(%rdi), WIDE_KEY
	on_wide_blocks vaesenclast
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7
	vmovdqu	%ymm\i, 32 * \i(%rsi)
	.endr
	add	$16 * 16, %rsi
	sub	$16, %rdx
	jnz	.Lsixteen
	vzeroupper	/* SSE code may follow */
	RET
SYM_FUNC_END(ws_aes256_ctr_vaes)
