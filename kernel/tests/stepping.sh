#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Builds tap.o with the headers of a kernel for x86-64, links it into a program, and runs that: an
# interrupt after every instruction of a read (stepping.c). No kernel runs, and no root is needed.
#
# usage: stepping.sh HEADERS [times]     HEADERS: as linux-headers of Debian has them, up to 6.14
#                                        CC: the compiler, gcc-12 by default
set -e
headers=$(readlink -f "$1")
what=$2
module=$(dirname "$(dirname "$(readlink -f "$0")")")
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cc=${CC:-gcc-12}

cp -r "$module/." "$build"
cd "$build"
cat >inline.c <<'END'
#include <linux/string.h>
#include "wellspring.h"
u64 inline_u64(void);
u64 inline_u64(void) { return wellspring_get_pseudo_u64(); }
u64 plain_u64(void);
u64 plain_u64(void)
{
	u64 sum = this_cpu_read(wellspring_pseudo_sum) + WELLSPRING_PSEUDO_STEP;

	this_cpu_write(wellspring_pseudo_sum, sum);
	return wellspring_pseudo_number(sum);
}
void inline_u64s(unsigned int count);
void inline_u64s(unsigned int count)
{
	while (count--) {
		u64 number = wellspring_get_pseudo_u64();

		asm volatile("" : : "r" (number) : "memory");
	}
}
void inline_blocks(u8 *memory, unsigned int count);
void inline_blocks(u8 *memory, unsigned int count)
{
	while (count--) {
		u64 place = wellspring_get_pseudo_u64(), content = wellspring_get_pseudo_u64();
		u8 *block = memory + place % 1024 * 4096;

		memset(block, content, 4096);
		asm volatile("" : : "r" (block) : "memory");
	}
}
/* The same with numbers that were made before. */
void ready_blocks(u8 *memory, unsigned int count, const u64 *numbers);
void ready_blocks(u8 *memory, unsigned int count, const u64 *numbers)
{
	while (count--) {
		u8 *block = memory + *numbers++ % 1024 * 4096;

		memset(block, *numbers++, 4096);
		asm volatile("" : : "r" (block) : "memory");
	}
}
END
make -s -C "$headers" M="$build" CC="$cc" CONFIG_DEBUG_INFO_BTF_MODULES= tap.o inline.o
for object in tap inline; do
	objcopy --rename-section __mcount_loc=mcount_loc,alloc,load,data --remove-section=.return_sites \
		--strip-debug --redefine-sym __stack_chk_fail=fail_stack --remove-section=.orc_unwind --remove-section=.orc_unwind_ip \
		--remove-section=.orc_header $object.o
done
cat >thunks.s <<'END'
.text
.globl __fentry__, __x86_return_thunk
__fentry__:
__x86_return_thunk:
	ret
.section .note.GNU-stack,"",@progbits
END
"$cc" -c thunks.s
"$cc" -O2 -c tests/stepping.c -o stepping.o
# What tap.o wants besides, and never reaches here, is a function that returns 0.
echo 'int nothing(void) { return 0; }' | "$cc" -O2 -x c -c - -o nothing.o
nm --defined-only stepping.o thunks.o tap.o inline.o | awk 'NF == 3 { print $3 }' | sort -u >defined
nm -u tap.o inline.o | awk '/ U / { print $2 }' | grep -vx -e memset -e memcpy | sort -u |
	comm -23 - defined | sed 's/.*/-Wl,--defsym=&=nothing/' >link.arguments
"$cc" -static -no-pie -o stepping stepping.o thunks.o nothing.o tap.o inline.o $(cat link.arguments)
./stepping $what
