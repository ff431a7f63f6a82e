// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * One node.
 *
 * The lock is raw and taken with interrupts off, because a read may come from a hard
 * interrupt. It is held to hash in a posted seed, to copy K and C, and to make a new
 * K. All output is made outside.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "backend.h"
#include "clock.h"
#include "memory.h"
#include "node.h"
#include "phase.h"

void ws_node_init(struct ws_node *node, unsigned int number, int numa_node)
{
	raw_spin_lock_init(&node->lock);
	node->number = number;
	node->numa_node = numa_node;
	ws_generator_init(&node->generator, ws_cipher);
}

/* Counts and times the waits: a reading of the clock costs little beside one. */
static unsigned long lock_node(struct ws_node *node) __acquires(&node->lock)
{
	unsigned long flags;
	u64 since_ns;

	if (raw_spin_trylock_irqsave(&node->lock, flags))
		return flags;
	since_ns = ktime_get_mono_fast_ns();
	raw_spin_lock_irqsave(&node->lock, flags);
	node->contended++;
	node->lock_wait_ns += ktime_get_mono_fast_ns() - since_ns;
	return flags;
}

static void unlock_node(struct ws_node *node, unsigned long flags)
	__releases(&node->lock)
{
	raw_spin_unlock_irqrestore(&node->lock, flags);
}

/* The node's lock is held. */
static void spend_credit(struct ws_node *node, size_t len)
{
	u32 bits = min_t(size_t, len, WS_CAPACITY_BITS) * 8;

	WRITE_ONCE(node->credit_bits,
		   node->credit_bits - min(bits, node->credit_bits));
}

bool ws_node_is_served_first(const struct ws_node *node)
{
	return READ_ONCE(node->credit_bits) < WS_SERVED_FIRST_BELOW_BITS;
}

/* The node's lock is held. */
static void reseed_locked(struct ws_node *node, const void *seed, size_t len,
			  u32 credit_bits)
{
	ws_generator_reseed(&node->generator, seed, len);
	/* Marked: ws_node_credited_bits() reads without the lock. */
	WRITE_ONCE(node->credited_bits, node->credited_bits + credit_bits);
	WRITE_ONCE(node->credit_bits,
		   min_t(u32, node->credit_bits + credit_bits, WS_CAPACITY_BITS));
	node->reseeds++;
	node->reseeded_ms = ws_now_ms();
	if (node->number == 0 && node->credited_bits)
		ws_phase_advance(WS_EARLY);
}

/* Empties the mailbox. The node's lock is held. */
static void receive_locked(struct ws_node *node)
{
	struct ws_mailbox *mailbox = &node->mailbox;

	/* Pairs with ws_node_feed(). */
	if (likely(!smp_load_acquire(&mailbox->full)))
		return;
	reseed_locked(node, mailbox->seed.data, mailbox->seed.bytes,
		      mailbox->seed.credit_bits);
	memzero_explicit(&mailbox->seed, sizeof(mailbox->seed));
	/* Pairs with mailbox_is_empty(). */
	smp_store_release(&mailbox->full, false);
}

static bool mailbox_is_empty(const struct ws_mailbox *mailbox)
{
	/* Pairs with receive_locked(): the old seed is wiped before a new one is written. */
	return !smp_load_acquire(&mailbox->full);
}

bool ws_node_has_room(struct ws_node *node)
{
	unsigned long flags;

	if (!mailbox_is_empty(&node->mailbox) &&
	    raw_spin_trylock_irqsave(&node->lock, flags)) {
		receive_locked(node);
		unlock_node(node, flags);
	}
	return mailbox_is_empty(&node->mailbox);
}

bool ws_node_feed(struct ws_node *node, const void *seed, size_t len,
		  u32 credit_bits)
{
	struct ws_mailbox *mailbox = &node->mailbox;

	if (!ws_node_has_room(node))
		return false;
	mailbox->seed.bytes = len;
	mailbox->seed.credit_bits = credit_bits;
	memcpy(mailbox->seed.data, seed, len);
	/* Pairs with receive_locked(): the whole seed is there before the mark. */
	smp_store_release(&mailbox->full, true);
	ws_node_has_room(node);
	return true;
}

/* Whether a seed came that was not all of unknown origin. */
static bool is_seeded(const struct ws_node *node)
{
	return ws_generator_is_seeded(&node->generator) && node->credited_bits;
}

int ws_node_reserve(struct ws_node *node, size_t len,
		    struct ws_reservation *reservation)
{
	unsigned long flags = lock_node(node);
	int error = -EAGAIN;

	receive_locked(node);
	if (is_seeded(node)) {
		ws_generator_reserve(&node->generator, len, reservation);
		node->reservations++;
		spend_credit(node, len);
		error = 0;
	}
	unlock_node(node, flags);
	return error;
}

void ws_node_reseed(struct ws_node *node, const void *seed, size_t len,
		    u32 credit_bits)
{
	unsigned long flags = lock_node(node);

	receive_locked(node);
	reseed_locked(node, seed, len, credit_bits);
	unlock_node(node, flags);
}

u64 ws_node_credited_bits(const struct ws_node *node)
{
	return READ_ONCE(node->credited_bits);
}

void ws_node_statistics(struct ws_node *node,
			struct ws_node_statistics *statistics)
{
	unsigned long flags = lock_node(node);

	*statistics = (struct ws_node_statistics) {
		.numa_node = node->numa_node,
		.memory_node = ws_memory_node(node),
		.reservations = node->reservations,
		.contended = node->contended,
		.lock_wait_ns = node->lock_wait_ns,
		.reseeds = node->reseeds,
		.reseed_age_ms = node->reseeds ?
			ws_now_ms() - node->reseeded_ms : U64_MAX,
		.credited_bits = node->credited_bits,
		.credit_bits = node->credit_bits,
		.mailbox_full = !mailbox_is_empty(&node->mailbox),
	};
	unlock_node(node, flags);
}
