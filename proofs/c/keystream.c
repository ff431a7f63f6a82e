// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * P1, second half: ws_keystream_fill() makes what blocks.c takes for granted, for any counter and any length
 * up to 2^40 bytes: byte i is byte i % b of block C + i / b under the key, where b is the length of a block.
 *
 * The two functions that make one section are replaced: known answers test them and their carries.
 */
#include "linux.h"
#include "internal.h"

#define MOST_BYTES (1UL << 40)
#define BLOCK_SHIFT (CIPHER == WS_AES256 ? 4 : 6)
#define IN_BLOCK ((1UL << BLOCK_SHIFT) - 1)
#define BLOCKS(len) (((len) + IN_BLOCK) >> BLOCK_SHIFT)

typedef unsigned __int128 u128;
#define VALUE(c) ((u128)(c).high << 64 | (c).low)

int preemption_off;
static u128 start;
/* Output goes behind this address. Nothing is written there. */
static u8 output[1];
static size_t output_bytes, made_bytes;
static u32 the_key[WS_KEY_BYTES / 4];

/* Any byte: how often it was made, and of what. */
static size_t witness;
static unsigned int witness_times;
static u64 witness_block, witness_in_block;

static bool make_section(u32 key, const struct ws_counter *from, u8 *dst, unsigned int len)
{
	size_t offset = (size_t)__CPROVER_POINTER_OFFSET(dst);

	__CPROVER_assert(__CPROVER_same_object(dst, output) && offset == made_bytes &&
			 len <= output_bytes - offset, "sections follow each other, in the buffer");
	__CPROVER_assert(key == the_key[0], "under the key");
	__CPROVER_assert(len <= WS_SECTION_BYTES, "a section is short");
	if (witness >= offset && witness - offset < len) {
		witness_times++;
		witness_block = VALUE(*from) - start + ((witness - offset) >> BLOCK_SHIFT);
		witness_in_block = (witness - offset) & IN_BLOCK;
	}
	made_bytes += len;
	return nondet_bool();
}

/* Before each section. */
#define PROOF_INVARIANT ( \
	__CPROVER_same_object(buf, output) && \
	(size_t)__CPROVER_POINTER_OFFSET(buf) == made_bytes && \
	made_bytes <= output_bytes && len == output_bytes - made_bytes && \
	(len == 0 || (made_bytes & (WS_SECTION_BYTES - 1)) == 0) && \
	VALUE(keystream->counter) == start + BLOCKS(made_bytes) && \
	witness_times == (witness < made_bytes) && \
	(witness >= made_bytes || \
	 (witness_block == witness >> BLOCK_SHIFT && witness_in_block == (witness & IN_BLOCK))))
#include "cipher.c"

int main(void)
{
	struct ws_keystream keystream;
	struct ws_counter counter = { nondet_u64(), nondet_u64() };
	size_t len = nondet_size();

	__CPROVER_assume(len <= MOST_BYTES);
	/* goto-instrument begins with any value in each static variable. */
	made_bytes = witness_times = 0;
	the_key[0] = nondet_u32();
	start = VALUE(counter);
	output_bytes = len;
	witness = nondet_size();

	ws_keystream_init(&keystream, CIPHER, (const u8 *)the_key, &counter);
	ws_keystream_fill(&keystream, output, len);

	__CPROVER_assert(VALUE(keystream.counter) == start + BLOCKS(len), "C' = C + blocks, with all carries");
	__CPROVER_assert(made_bytes == len, "all is made");
	__CPROVER_assert(witness_times == (witness < len), "each byte is made once");
	__CPROVER_assert(witness >= len || witness_block == witness >> BLOCK_SHIFT, "each byte has its block");
	__CPROVER_assert(witness >= len || witness_in_block == (witness & IN_BLOCK), "at its place");
	ws_keystream_wipe(&keystream);
	__CPROVER_assert(keystream.counter.low == 0 && keystream.chacha_key[0] == 0, "it is wiped");
	REACHED(len == MOST_BYTES && witness == len - 1, "the last byte of the longest");
	REACHED(counter.low == U64_MAX && len > WS_SECTION_BYTES, "a carry");
	REACHED(len == 0, "no bytes");
	return 0;
}
