// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * P2, first half: hand_out() with the buffer as large as it is, each rest of it and each length. It is run, by
 * a compiler's code: 493521 cases.
 *
 * Claim: it writes the next bytes of the rest to the destination and zeros in their place, counts the rest down, and
 * touches nothing else. A byte of the buffer tells its place: by its low half in one run, by its high half in
 * another. reads.c takes this claim for granted.
 */
#include <stdio.h>
#include <stdlib.h>
#define __CPROVER_assert(condition, claim) ((void)(condition))
#include "linux.h"
#include "internal.h"
#include "tap.c"

int preemption_off;
enum ws_cipher ws_cipher;

#define LAST WS_TAP_BUFFER_BYTES
#define UNTOUCHED 0xaa

static void claim(bool holds, const char *what)
{
	if (holds)
		return;
	puts(what);
	exit(10);
}

static void read_all(unsigned int shift)
{
	static struct tap before, tap;
	static u8 output[LAST + 8], expected[LAST + 8];
	size_t left, len, i;

	memset(&before, UNTOUCHED, sizeof(before));
	for (i = 0; i < LAST; i++)
		before.made.buffer[i] = 1 + (i >> shift & 31);
	for (left = 0; left <= LAST; left++) {
		for (len = 0; len <= left; len++) {
			before.left_bytes = left;
			tap = before;
			memset(output, UNTOUCHED, sizeof(output));
			memset(expected, UNTOUCHED, sizeof(expected));
			memcpy(expected, before.made.buffer + LAST - left, len);

			hand_out(&tap, output, len);

			claim(tap.left_bytes == left - len, "the rest is shorter by the read");
			claim(!memcmp(output, expected, sizeof(output)),
			      "the next bytes are copied, and nothing is written behind them");
			for (i = 0; i < len; i++)
				claim(!tap.made.buffer[LAST - left + i], "what is copied is erased");
			/* All as it was, but for this. */
			tap.left_bytes = left;
			memcpy(tap.made.buffer + LAST - left, expected, len);
			claim(!memcmp(&tap, &before, sizeof(tap)), "nothing else of the tap is touched");
		}
	}
}

int main(void)
{
	read_all(0);
	read_all(5);
	return 0;
}
