// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * P1, first half: which blocks of which keys ws_generator_reserve() and ws_reservation_generate()
 * use, for any counter and any length up to 2^40 bytes.
 *
 * The keystream is replaced by an account of its uses; keystream.c proves what that takes for granted.
 * A key is a number here: PARENT is the generator's, and the key that is drawn under key k is k + 1. The
 * loop is proved by its invariant (generator.edits), so no length costs more than another, and nothing
 * is divided: the byte that stands for all others is byte @witness_offset of piece @witness_piece.
 */
#include "linux.h"
#include "internal.h"

#define MOST_BYTES (1UL << 40)
#define LIMIT ((size_t)WS_KEY_LIMIT_BYTES)
/* The blocks of an AES key, and the blocks of the next key. */
#define PIECE_BLOCKS (65536 + 2)
#define PARENT 0
#define HEIR 0xffffffff
#define BLOCK_SHIFT (CIPHER == WS_AES256 ? 4 : 6)
#define PER_KEY (CIPHER == WS_AES256 ? 2 : 1)
#define BLOCKS(len) (((len) + (1UL << BLOCK_SHIFT) - 1) >> BLOCK_SHIFT)

typedef unsigned __int128 u128;
#define VALUE(c) ((u128)(c).high << 64 | (c).low)

static struct ws_generator generator;
static u128 start;		/* C */
/* Output goes behind this address. Nothing is written there. */
static u8 output[1];
static size_t output_bytes;

static u64 pieces;		/* of output, so far */
static u64 place;		/* the block after the last used block, counted from C */
static u64 heir_from, heir_blocks, heirs;

static size_t witness_piece, witness_offset;
static unsigned int witness_times;
static u32 witness_key;
static u64 witness_block, witness_in_block;

void ws_keystream_init(struct ws_keystream *keystream, enum ws_cipher cipher,
		       const u8 key[WS_KEY_BYTES], const struct ws_counter *counter)
{
	keystream->cipher = cipher;
	keystream->counter = *counter;
	keystream->chacha_key[0] = *(const u32 *)key;
}

static void make_output(u32 key, u64 from, size_t offset, size_t len)
{
	__CPROVER_assert(offset <= output_bytes && len <= output_bytes - offset,
			 "output stays in the buffer");
	__CPROVER_assert(CIPHER == WS_CHACHA20 || len <= LIMIT, "at most 2^20 bytes under an AES key");
	__CPROVER_assert(key == pieces, "each piece has a key of its own");
	__CPROVER_assert(offset == pieces * LIMIT, "pieces follow each other");
	if (witness_piece == pieces && witness_offset < len) {
		witness_times++;
		witness_key = key;
		witness_block = from + (witness_offset >> BLOCK_SHIFT);
		witness_in_block = witness_offset & ((1 << BLOCK_SHIFT) - 1);
	}
	pieces++;
}

void ws_keystream_fill(struct ws_keystream *keystream, void *buf, size_t len)
{
	u64 from = VALUE(keystream->counter) - start, blocks = BLOCKS(len);
	u32 key = keystream->chacha_key[0];
	u128 next = VALUE(keystream->counter) + blocks;

	if (buf == generator.key) {
		__CPROVER_assert(key == PARENT && len == WS_KEY_BYTES, "the next key is of the old one");
		heir_from = from;
		heir_blocks = blocks;
		heirs++;
		*(u32 *)buf = HEIR;
	} else {
		__CPROVER_assert(VALUE(keystream->counter) - start == place,
				 "no block is passed over or used twice, whatever the key");
		place += blocks;
		if (__CPROVER_same_object(buf, output)) {
			make_output(key, from, (u8 *)buf - output, len);
		} else {
			__CPROVER_assert(len == WS_KEY_BYTES, "a key has 32 bytes");
			*(u32 *)buf = key + 1;
		}
	}
	keystream->counter.low = next;
	keystream->counter.high = next >> 64;
}

void ws_keystream_wipe(struct ws_keystream *keystream)
{
	keystream->chacha_key[0] = HEIR;
}

/* Of ws_reservation_generate(), before each piece but the last. */
#define PROOF_INVARIANT ( \
	__CPROVER_same_object(buf, output) && \
	(size_t)__CPROVER_POINTER_OFFSET(buf) == pieces * LIMIT && \
	pieces <= output_bytes / LIMIT && len == output_bytes - pieces * LIMIT && \
	(pieces == 0 || (len > 0 && CIPHER == WS_AES256)) && \
	keystream->cipher == CIPHER && keystream->chacha_key[0] == pieces && \
	VALUE(keystream->counter) == start + place && place == pieces * PIECE_BLOCKS && \
	witness_times == (witness_piece < pieces) && \
	(witness_piece >= pieces || \
	 (witness_key == witness_piece && \
	  witness_block == witness_piece * PIECE_BLOCKS + (witness_offset >> BLOCK_SHIFT) && \
	  witness_in_block == (witness_offset & ((1 << BLOCK_SHIFT) - 1)))))
#include "fortuna.c"

int main(void)
{
	struct ws_reservation reservation;
	size_t len = nondet_size();
	u64 blocks, changes, end;

	__CPROVER_assume(len <= MOST_BYTES);
	/* goto-instrument begins with any value in each static variable. */
	pieces = place = heirs = witness_times = 0;
	generator.cipher = CIPHER;
	generator.counter.low = nondet_u64();
	generator.counter.high = nondet_u64();
	*(u32 *)generator.key = PARENT;
	start = VALUE(generator.counter);
	output_bytes = len;
	/* Any byte of the output, in its piece. ChaCha20 has one piece. */
	witness_piece = nondet_size();
	witness_offset = nondet_size();
	__CPROVER_assume(witness_piece < len / LIMIT + 1);
	__CPROVER_assume(CIPHER == WS_AES256 ? witness_offset < LIMIT : witness_piece == 0);
	__CPROVER_assume(len == 0 || witness_offset < len - witness_piece * LIMIT);

	ws_generator_reserve(&generator, len, &reservation);
	end = VALUE(generator.counter) - start;
	__CPROVER_assert(VALUE(generator.counter) - start <= U64_MAX, "C' - C is less than 2^64");
	ws_reservation_generate(&reservation, output, len);

	blocks = BLOCKS(len);
	changes = CIPHER == WS_AES256 ? blocks >> 16 : 0;
	__CPROVER_assert(heirs == 1 && *(u32 *)generator.key == HEIR, "the key is replaced, once");
	__CPROVER_assert(heir_from >= place && heir_blocks == PER_KEY && heir_from + heir_blocks == end,
			 "the next key is behind all output, and C' behind the next key");
	/* FreeBSD's gap: two blocks that are not used if the request has k * 65536 blocks, k > 0. */
	__CPROVER_assert(end == blocks + 2 * changes + PER_KEY, "C' - C is FreeBSD's");
	__CPROVER_assert(heir_from - place == (changes && !(blocks & 65535) ? 2 : 0), "the gap");
	__CPROVER_assert(witness_times == (len > 0), "each byte is made once");
	__CPROVER_assert(len == 0 || witness_key == witness_piece,
			 "each byte has the key of its 2^20 bytes");
	__CPROVER_assert(len == 0 || witness_block == witness_piece * PIECE_BLOCKS + (witness_offset >> BLOCK_SHIFT),
			 "each byte has its block");
	__CPROVER_assert(len == 0 || witness_in_block == (witness_offset & ((1 << BLOCK_SHIFT) - 1)),
			 "at its place");
	__CPROVER_assert(reservation.keystream.chacha_key[0] == HEIR, "the reservation is wiped");
	REACHED(witness_piece == (CIPHER == WS_AES256 ? 7 : 0) && len == 12345678, "many pieces");
	REACHED(generator.counter.low < 1000 && start > U64_MAX, "a carry");
	REACHED(len == 0, "no bytes");
	return 0;
}
