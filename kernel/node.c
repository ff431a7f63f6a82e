// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A generator behind its own lock, and the mailbox that feeds it.
 *
 * The lock is raw and taken with interrupts off, because a read may come from a hard
 * interrupt. It is held for a claim: to hash in a seed that was posted, to copy K and
 * C, and to make a new K. Bytes are made outside; only a canonical read makes them
 * under the lock, WS_CHUNK_BYTES at most.
 */
#include <linux/minmax.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "internal.h"
#include "trace.h"

/*
 * The protocol of a generation: whoever bumps has first posted what it announces;
 * whoever fetches a key has read the generation before. A tap of generation g has a
 * key that was drawn after every seed announced by g; a bump during the fetch leaves
 * it with the older number, and it fetches again.
 */
static atomic64_t generation = ATOMIC64_INIT(WS_NEVER + 1);

u64 ws_generation(void)
{
	return atomic64_read_acquire(&generation);
}
WS_EXPORT_FOR_TEST(ws_generation);

u64 ws_generation_bump(void)
{
	u64 next = atomic64_inc_return(&generation);

	trace_wellspring_generation(next);
	return next;
}
WS_EXPORT_FOR_TEST(ws_generation_bump);

void ws_node_prepare(struct ws_node *node, unsigned int number, int numa_node)
{
	raw_spin_lock_init(&node->lock);
	node->number = number;
	node->numa_node = numa_node;
	ws_generator_init(&node->generator, ws_cipher);
}

/*
 * Waits with interrupts and preemption as the caller has them, not off: on a virtual
 * machine the kernel's spinlock is unfair, and a CPU that was out of luck would have
 * been deaf for seconds.
 */
static unsigned long lock_node(struct ws_node *node) __acquires(&node->lock)
{
	unsigned long flags;
	u64 since_ns;

	if (raw_spin_trylock_irqsave(&node->lock, flags))
		return flags;
	since_ns = ktime_get_mono_fast_ns();
	do {
		while (raw_spin_is_locked(&node->lock))
			cpu_relax();
	} while (!raw_spin_trylock_irqsave(&node->lock, flags));
	node->contended++;
	node->lock_wait_ns += ktime_get_mono_fast_ns() - since_ns;
	return flags;
}

static void unlock_node(struct ws_node *node, unsigned long flags)
	__releases(&node->lock)
{
	raw_spin_unlock_irqrestore(&node->lock, flags);
}

static void change_credit(struct ws_node *node, s64 bits)
{
	int old = atomic_read(&node->credit_bits);

	while (!atomic_try_cmpxchg(&node->credit_bits, &old,
				   clamp_t(s64, old + bits, 0, WS_CAPACITY_BITS)))
		;
}

bool ws_node_has_room(const struct ws_node *node)
{
	return !smp_load_acquire(&node->mailbox.full);
}

bool ws_node_is_hungry(const struct ws_node *node)
{
	return atomic_read(&node->credit_bits) < WS_HUNGRY_BITS;
}

bool ws_node_post(struct ws_node *node, const void *seed, size_t bytes,
		  u32 credit_bits)
{
	struct ws_mailbox *mailbox = &node->mailbox;

	if (!ws_node_has_room(node))
		return false;
	mailbox->seed.bytes = bytes;
	mailbox->seed.credit_bits = credit_bits;
	memcpy(mailbox->seed.data, seed, bytes);
	smp_store_release(&mailbox->full, true);
	change_credit(node, credit_bits);
	return true;
}

/* The node's lock is held. */
static void reseed(struct ws_node *node, const void *seed, size_t bytes,
		   u32 credit_bits)
{
	ws_generator_reseed(&node->generator, seed, bytes);
	node->credited_bits += credit_bits;
	node->reseeds++;
	node->reseeded_ms = ws_now_ms();
	if (node->number == 0 && node->credited_bits)
		ws_phase_set(WS_EARLY);
}

/* Empties the mailbox: first of all for whoever takes the lock to read. */
static void receive(struct ws_node *node)
{
	struct ws_mailbox *mailbox = &node->mailbox;

	if (likely(!smp_load_acquire(&mailbox->full)))
		return;
	reseed(node, mailbox->seed.data, mailbox->seed.bytes,
	       mailbox->seed.credit_bits);
	memzero_explicit(&mailbox->seed, sizeof(mailbox->seed));
	smp_store_release(&mailbox->full, false);
}

/* Whether anyone may read: a seed came, and it was not all of unknown origin. */
static bool is_seeded(const struct ws_node *node)
{
	return ws_generator_is_seeded(&node->generator) && node->credited_bits;
}

int ws_node_claim_on(struct ws_node *node, size_t bytes,
		     struct ws_claim *claim)
{
	unsigned long flags = lock_node(node);
	int error = -EAGAIN;

	receive(node);
	if (is_seeded(node)) {
		ws_generator_claim(&node->generator, bytes, claim);
		node->claims++;
		error = 0;
	}
	unlock_node(node, flags);
	if (!error)
		change_credit(node, -(s64)min_t(size_t, bytes, WS_CAPACITY_BITS) * 8);
	return error;
}

int ws_node_claim(bool root, size_t bytes, struct ws_claim *claim)
{
	int error;

	rcu_read_lock();
	if (root || ws_phase() != WS_READY)
		error = ws_node_claim_on(ws_node_root(), bytes, claim);
	else
		error = ws_node_claim_on(ws_node_here(), bytes, claim);
	rcu_read_unlock();
	return error;
}

ssize_t ws_node_read_chunk(void *destination, size_t bytes)
{
	struct ws_node *node;
	ssize_t made = -EAGAIN;
	unsigned long flags;

	rcu_read_lock();
	node = ws_node_root();
	flags = lock_node(node);
	receive(node);
	if (is_seeded(node)) {
		made = ws_generator_read_chunk(&node->generator, destination,
					       bytes);
		node->claims++;
	}
	unlock_node(node, flags);
	if (made > 0)
		change_credit(node, -made * 8);
	rcu_read_unlock();
	return made;
}

bool ws_node_receive_root(void)
{
	struct ws_node *root;
	unsigned long flags;
	bool has_room;

	rcu_read_lock();
	root = ws_node_root();
	if (raw_spin_trylock_irqsave(&root->lock, flags)) {
		receive(root);
		unlock_node(root, flags);
	}
	has_room = ws_node_has_room(root);
	rcu_read_unlock();
	return has_room;
}

u64 ws_root_credited_bits(void)
{
	u64 credited_bits;

	rcu_read_lock();
	credited_bits = READ_ONCE(ws_node_root()->credited_bits);
	rcu_read_unlock();
	return credited_bits;
}

/* What a number names: 0, -ENODATA or -ENXIO. Under rcu_read_lock(). */
static int find(unsigned int number, struct ws_node **node)
{
	if (number >= ws_node_numbers())
		return -ENXIO;
	*node = ws_node_numbered(number);
	return *node ? 0 : -ENODATA;
}

int ws_node_save(unsigned int number, void *seed, size_t bytes)
{
	struct ws_claim claim;
	struct ws_node *node;
	int error;

	rcu_read_lock();
	error = find(number, &node);
	if (!error)
		error = ws_node_claim_on(node, bytes, &claim);
	rcu_read_unlock();
	if (!error)
		ws_claim_generate(&claim, seed, bytes);
	return error;
}
WS_EXPORT_FOR_TEST(ws_node_save);

int ws_node_restore(unsigned int number, const void *seed, size_t bytes,
		    u32 credit_bits)
{
	struct ws_node *node;
	unsigned long flags;
	int error;

	rcu_read_lock();
	error = find(number, &node);
	if (!error) {
		flags = lock_node(node);
		receive(node);
		reseed(node, seed, bytes, credit_bits);
		unlock_node(node, flags);
		change_credit(node, credit_bits);
	}
	rcu_read_unlock();
	return error;
}
WS_EXPORT_FOR_TEST(ws_node_restore);

void ws_nodes_stir(const void *data, size_t bytes)
{
	u8 digest[SHA256_DIGEST_SIZE];
	unsigned int number;

	for (number = 0; number < ws_node_numbers(); number++) {
		__le64 of_node = cpu_to_le64(number);

		ws_sha_d256(digest, "wellspring stir", 15, &of_node,
			    sizeof(of_node), data, bytes);
		/* A number that is gone has nothing to stir. */
		ws_node_restore(number, digest, sizeof(digest), 0);
	}
	memzero_explicit(digest, sizeof(digest));
	ws_generation_bump();
}

bool ws_node_statistics(unsigned int number,
			struct ws_node_statistics *statistics)
{
	struct ws_node *node;
	unsigned long flags;
	bool found;

	rcu_read_lock();
	found = find(number, &node) == 0;
	if (found) {
		flags = lock_node(node);
		*statistics = (struct ws_node_statistics) {
			.numa_node = node->numa_node,
			.claims = node->claims,
			.contended = node->contended,
			.lock_wait_ns = node->lock_wait_ns,
			.reseeds = node->reseeds,
			.reseed_age_ms = node->reseeds ?
				ws_now_ms() - node->reseeded_ms : U64_MAX,
			.credited_bits = node->credited_bits,
			.credit_bits = atomic_read(&node->credit_bits),
			.mailbox_full = !ws_node_has_room(node),
		};
		unlock_node(node, flags);
	}
	rcu_read_unlock();
	return found;
}
WS_EXPORT_FOR_TEST(ws_node_statistics);
