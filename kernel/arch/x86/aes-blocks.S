/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * AES with keys of 128, 192 and 256 bits in the modes of disk and network ciphers: a counter of
 * big endian, and XTS. Registers:
 *
 *	%rdi	round keys for encryption, or for the equivalent inverse cipher
 *	%esi	rounds: 10, 12 or 14
 *	%rdx	destination
 *	%rcx	source, which may be the destination
 *	%r8	whole blocks
 *	%r9	16 bytes, moved on by the blocks: the counter, low word first, whose low word
 *		does not wrap in a call; or the tweak of XTS
 *
 * Six blocks at a time: as many tweaks stay in registers. The rest of one to five goes through the
 * rounds together too: each round takes 3 cycles or more, for one block or for five. The end of the
 * section wipes the registers.
 */
#include <linux/linkage.h>

#define KEY	%xmm15
#define NEXT	%xmm12
#define SCRATCH	%xmm13
#define CONSTANT %xmm14

/* The registers xmm\numbers through all rounds. */
.macro rounds step:req, last:req, numbers:vararg
	movdqu	(%rdi), KEY
	.irp	i, \numbers
	pxor	KEY, %xmm\i
	.endr
	mov	%rdi, %rax
	lea	-1(%rsi), %r10d
.Lround\@:
	add	$16, %rax
	movdqu	(%rax), KEY
	.irp	i, \numbers
	\step	KEY, %xmm\i
	.endr
	dec	%r10d
	jnz	.Lround\@
	movdqu	16(%rax), KEY
	.irp	i, \numbers
	\last	KEY, %xmm\i
	.endr
.endm

/* Source and destination move on behind so many blocks. */
.macro advance blocks:req
	add	$16 * \blocks, %rcx
	add	$16 * \blocks, %rdx
	sub	$\blocks, %r8
.endm

/* The counter into xmm\to, its last byte first. */
.macro take_counter to:req
	movdqa	NEXT, %xmm\to
	pshufb	SCRATCH, %xmm\to
	paddq	CONSTANT, NEXT
.endm

.macro ctr count:req, numbers:vararg
	.irp	i, \numbers
	take_counter \i
	.endr
	rounds	aesenc, aesenclast, \numbers
	.irp	i, \numbers
	movdqu	16 * \i(%rcx), KEY
	pxor	KEY, %xmm\i
	movdqu	%xmm\i, 16 * \i(%rdx)
	.endr
	advance	\count
.endm

/* Does the rest if it is so many blocks. \what is the beginning of a line that all counts have. */
.macro if_rest done:req, what:req, count:req, numbers:vararg
	cmp	$\count, %r8
	jne	.Lnot\@
	\what	\count, \numbers
	jmp	\done
.Lnot\@:
.endm

.macro rest done:req, what:req
	if_rest	\done, "\what", 1, 0
	if_rest	\done, "\what", 2, 0, 1
	if_rest	\done, "\what", 3, 0, 1, 2
	if_rest	\done, "\what", 4, 0, 1, 2, 3
	if_rest	\done, "\what", 5, 0, 1, 2, 3, 4
.endm

/* %rdi and %esi as above, %rdx: the block, in place. */
SYM_FUNC_START(ws_aes_encrypt_block)
	movdqu	(%rdx), %xmm0
	rounds	aesenc, aesenclast, 0
	movdqu	%xmm0, (%rdx)
	RET
SYM_FUNC_END(ws_aes_encrypt_block)

SYM_FUNC_START(ws_aes_ctr_blocks)
	movdqu	(%r9), NEXT
	mov	$1, %eax
	movq	%rax, CONSTANT
	movabs	$0x08090a0b0c0d0e0f, %rax
	movq	%rax, SCRATCH
	movabs	$0x0001020304050607, %rax
	pinsrq	$1, %rax, SCRATCH
	cmp	$6, %r8
	jb	.Lctr_rest
.Lctr_six:
	ctr	6, 0, 1, 2, 3, 4, 5
	cmp	$6, %r8
	jae	.Lctr_six
.Lctr_rest:
	rest	.Lctr_done, "ctr"
.Lctr_done:
	movdqu	NEXT, (%r9)
	RET
SYM_FUNC_END(ws_aes_ctr_blocks)

/* The tweak into xmm\to, and times x in GF(2^128) after that. */
.macro take_tweak to:req
	movdqa	NEXT, %xmm\to
	pshufd	$0x13, NEXT, SCRATCH
	paddq	NEXT, NEXT
	psrad	$31, SCRATCH
	pand	CONSTANT, SCRATCH
	pxor	SCRATCH, NEXT
.endm

/* Block i has its tweak in the sixth register after its own. */
.macro with_tweaks numbers:vararg
	.irp	i, \numbers
	.irp	t, 6, 7, 8, 9, 10, 11
	.if	\t - \i == 6
	pxor	%xmm\t, %xmm\i
	.endif
	.endr
	.endr
.endm

.macro xts step:req, last:req, count:req, numbers:vararg
	.irp	i, 6, 7, 8, 9, 10, 11
	.if	\i - 6 < \count
	take_tweak \i
	.endif
	.endr
	.irp	i, \numbers
	movdqu	16 * \i(%rcx), %xmm\i
	.endr
	with_tweaks \numbers
	rounds	\step, \last, \numbers
	with_tweaks \numbers
	.irp	i, \numbers
	movdqu	%xmm\i, 16 * \i(%rdx)
	.endr
	advance	\count
.endm

.macro xts_function name:req, step:req, last:req
SYM_FUNC_START(\name)
	movdqu	(%r9), NEXT
	mov	$0x87, %eax
	movq	%rax, CONSTANT
	mov	$1, %eax
	pinsrq	$1, %rax, CONSTANT
	cmp	$6, %r8
	jb	.Lrest\@
.Lsix\@:
	xts	\step, \last, 6, 0, 1, 2, 3, 4, 5
	cmp	$6, %r8
	jae	.Lsix\@
.Lrest\@:
	rest	.Ldone\@, "xts \step, \last,"
.Ldone\@:
	movdqu	NEXT, (%r9)
	RET
SYM_FUNC_END(\name)
.endm

xts_function ws_aes_xts_encrypt_blocks, aesenc, aesenclast
xts_function ws_aes_xts_decrypt_blocks, aesdec, aesdeclast
