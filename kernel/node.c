// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Nodes: how far seeding has come, when taps need a fresh key, a generator behind a lock, and
 * the table of all of them.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/nodemask.h>
#include <linux/nospec.h>
#include <linux/numa.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/topology.h>

#include "internal.h"
#include "machine.h"
#include "trace.h"

/*
 * The phase, and the queue of tasks that wait for it.
 *
 * Node 0 says Early, under its lock, when it takes its first credited seed: often in
 * a reader, which may be a hard interrupt and must not wake anyone. So the waking is a
 * call of its own, made by the harvester and by ioctls.
 */

DECLARE_WAIT_QUEUE_HEAD(ws_phase_wait);

static atomic_t current_phase = ATOMIC_INIT(WS_EMPTY);

enum ws_phase ws_phase(void)
{
	return atomic_read_acquire(&current_phase);
}
WS_EXPORT_FOR_TEST(ws_phase);

const char *ws_phase_name(enum ws_phase phase)
{
	static const char *const names[] = {
		[WS_EMPTY] = "empty",
		[WS_EARLY] = "early",
		[WS_READY] = "ready",
	};

	return names[phase];
}

void ws_phase_advance(enum ws_phase next)
{
	int old = atomic_read(&current_phase);

	while (old < (int)next &&
	       !atomic_try_cmpxchg_release(&current_phase, &old, next))
		;
}

void ws_phase_announce(void)
{
	static atomic_t announced = ATOMIC_INIT(WS_EMPTY);
	int phase = ws_phase();

	if (atomic_xchg(&announced, phase) != phase)
		wake_up_all(&ws_phase_wait);
}

/*
 * The order of a bump: first post the seeds, then bump. The order of a tap's fetch:
 * first read the generation, then draw a key from the node. So the key of a tap of
 * generation g was drawn after every seed that g announced. A bump in the middle of a
 * fetch leaves the tap with the older number, and its next read fetches again.
 */

atomic64_t ws_generation_number = ATOMIC64_INIT(WS_NO_GENERATION + 1);
WS_EXPORT_FOR_TEST(ws_generation_number);

u64 ws_generation_bump(void)
{
	/*
	 * Pairs with ws_generation(), generation-fetch.litmus, and with a reader by
	 * ws_generation_is(), generation-hot.litmus.
	 */
	u64 next = atomic64_inc_return(&ws_generation_number);

	trace_wellspring_generation(next);
	return next;
}
WS_EXPORT_FOR_TEST(ws_generation_bump);

/*
 * One node. The lock is raw and taken with interrupts off, because a read may come from a hard
 * interrupt. It is held to hash in a posted seed, to copy K and C, and to make a new
 * K. All output is made outside.
 */

void ws_node_init(struct ws_node *node, unsigned int number, int numa_node, u32 cache)
{
	raw_spin_lock_init(&node->lock);
	node->number = number;
	node->numa_node = numa_node;
	node->cache = cache;
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

	/* Pairs with ws_node_feed(): mailbox.litmus, generation-other-reader.litmus. */
	if (likely(!smp_load_acquire(&mailbox->full)))
		return;
	reseed_locked(node, mailbox->seed.data, mailbox->seed.bytes,
		      mailbox->seed.credit_bits);
	memzero_explicit(&mailbox->seed, sizeof(mailbox->seed));
	/* Pairs with mailbox_is_empty(): queue-wrap.litmus. */
	smp_store_release(&mailbox->full, false);
}

static bool mailbox_is_empty(const struct ws_mailbox *mailbox)
{
	/*
	 * Pairs with receive_locked(): the old seed is wiped before a new one is written,
	 * queue-wrap.litmus.
	 */
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
	/* Pairs with receive_locked(): the whole seed is there before the mark, mailbox.litmus. */
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
		.cache = node->cache,
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

/*
 * What has a node: a NUMA node, or the CPUs of a NUMA node that share a last-level cache. A socket
 * of 128 cores may be one NUMA node with 16 such caches.
 */

enum topology { TOPOLOGY_NUMA, TOPOLOGY_LLC };

static const char *const topology_names[] = {
	[TOPOLOGY_NUMA] = "numa",
	[TOPOLOGY_LLC] = "llc",
};

static enum topology topology = TOPOLOGY_NUMA;

static int set_topology(const char *value, const struct kernel_param *parameter)
{
	int ret = sysfs_match_string(topology_names, value);

	if (ret < 0)
		return ret;
	if (ret == TOPOLOGY_LLC && !WS_ARCH_KNOWS_CACHES) {
		pr_warn("topology=llc is for x86-64: modules cannot see the caches here\n");
		return -EOPNOTSUPP;
	}
	topology = ret;
	return 0;
}

static int get_topology(char *buf, const struct kernel_param *parameter)
{
	return sysfs_emit(buf, "%s\n", topology_names[topology]);
}

static const struct kernel_param_ops topology_ops = {
	.set = set_topology,
	.get = get_topology,
};
module_param_cb(topology, &topology_ops, NULL, 0444);
MODULE_PARM_DESC(topology,
		 "numa (default): a node for each NUMA node; llc: for each last-level cache, on x86-64");

u32 ws_cache(int cpu)
{
	return topology == TOPOLOGY_LLC ? ws_arch_cache(cpu) : 0;
}
WS_EXPORT_FOR_TEST(ws_cache);

bool ws_node_is_of(const struct ws_node *node, int cpu)
{
	return node->numa_node == cpu_to_node(cpu) && node->cache == ws_cache(cpu);
}

/*
 * The table of nodes. Readers find theirs by two loads under rcu_read_lock(). While the
 * table changes, one pointer at a time, each pointer that a reader can see is valid.
 */

DEFINE_MUTEX(ws_nodes_lock);

static struct ws_node __rcu *nodes[WS_MAX_NODES];
static unsigned int nodes_count;
/* The node that serves each CPU, whether that is online or not. */
static struct ws_node __rcu **serving;

unsigned int ws_nodes_count(void)
{
	return READ_ONCE(nodes_count);
}
WS_EXPORT_FOR_TEST(ws_nodes_count);

struct ws_node *ws_nodes_root(void)
{
	return rcu_dereference(nodes[0]);
}

struct ws_node *ws_nodes_here(void)
{
	return rcu_dereference(serving[raw_smp_processor_id()]);
}

struct ws_node *ws_nodes_get(unsigned int number)
{
	return rcu_dereference(nodes[number]);
}

/* 0, -ENODATA or -ENXIO. Under rcu_read_lock(). */
static int nodes_find(unsigned int number, struct ws_node **node)
{
	if (number >= ws_nodes_count())
		return -ENXIO;
	/* The number may be a user's: no speculation past the end of the table. */
	*node = ws_nodes_get(array_index_nospec(number, WS_MAX_NODES));
	return *node ? 0 : -ENODATA;
}

int ws_nodes_reserve(bool root, size_t len, struct ws_reservation *reservation)
{
	struct ws_node *node;
	int error;

	/* Pairs with ws_nodes_withdraw(): node-retire.litmus. */
	rcu_read_lock();
	node = root || ws_phase() != WS_READY ? ws_nodes_root() :
						ws_nodes_here();
	error = ws_node_reserve(node, len, reservation);
	rcu_read_unlock();
	return error;
}

int ws_nodes_check(unsigned int number)
{
	struct ws_node *node;
	int error;

	rcu_read_lock();
	error = nodes_find(number, &node);
	rcu_read_unlock();
	return error;
}

int ws_nodes_save(unsigned int number, void *seed, size_t len)
{
	struct ws_reservation reservation;
	struct ws_node *node;
	int error;

	rcu_read_lock();
	error = nodes_find(number, &node);
	/* A saved seed gets full credit after the reboot, so only a ready module may save. */
	if (!error && ws_phase() != WS_READY)
		error = -EAGAIN;
	if (!error)
		error = ws_node_reserve(node, len, &reservation);
	rcu_read_unlock();
	if (!error)
		ws_reservation_generate(&reservation, seed, len);
	return error;
}
WS_EXPORT_FOR_TEST(ws_nodes_save);

int ws_nodes_reseed(unsigned int number, const void *seed, size_t len,
		    u32 credit_bits)
{
	struct ws_node *node;
	int error;

	rcu_read_lock();
	error = nodes_find(number, &node);
	if (!error)
		ws_node_reseed(node, seed, len, credit_bits);
	rcu_read_unlock();
	return error;
}
WS_EXPORT_FOR_TEST(ws_nodes_reseed);

/*
 * A node that comes meanwhile is published before it draws on node 0
 * (topology.c). So this loop finds it, or what it draws depends on what node 0
 * has got, and callers see to node 0 first.
 */
void ws_nodes_stir(const char *domain, unsigned int first, const void *secret,
		   size_t len, u32 credit_bits)
{
	u8 digest[SHA256_DIGEST_SIZE];
	unsigned int number;

	for (number = first; number < ws_nodes_count(); number++) {
		ws_hash_for_node(digest, domain, number, secret, len);
		/* It fails only for a number whose node is gone. */
		ws_nodes_reseed(number, digest, sizeof(digest), credit_bits);
	}
	memzero_explicit(digest, sizeof(digest));
	ws_generation_bump();
}
WS_EXPORT_FOR_TEST(ws_nodes_stir);

u64 ws_nodes_reservations(void)
{
	u64 reservations = 0;
	unsigned int number;

	rcu_read_lock();
	for (number = 0; number < ws_nodes_count(); number++) {
		const struct ws_node *node = ws_nodes_get(number);

		if (node)
			/* A count that is a little old will do. */
			reservations += data_race(node->reservations);
	}
	rcu_read_unlock();
	return reservations;
}

bool ws_nodes_statistics(unsigned int number,
			 struct ws_node_statistics *statistics)
{
	struct ws_node *node;
	bool found;

	rcu_read_lock();
	found = nodes_find(number, &node) == 0;
	if (found)
		ws_node_statistics(node, statistics);
	rcu_read_unlock();
	return found;
}
WS_EXPORT_FOR_TEST(ws_nodes_statistics);

struct ws_node *ws_nodes_held(unsigned int number)
{
	return rcu_dereference_protected(nodes[number],
					 lockdep_is_held(&ws_nodes_lock));
}

unsigned int ws_nodes_free_number(void)
{
	unsigned int number = 0;

	while (number < nodes_count && ws_nodes_held(number))
		number++;
	return number;
}

void ws_nodes_publish(struct ws_node *node)
{
	rcu_assign_pointer(nodes[node->number], node);
	WRITE_ONCE(nodes_count, max(nodes_count, node->number + 1));
}

/* Another cache is nearer than any other NUMA node. */
static int distance(int cpu, const struct ws_node *node)
{
	return 2 * node_distance(cpu_to_node(cpu), node->numa_node) +
	       !ws_node_is_of(node, cpu);
}

static struct ws_node *nearest_node(int cpu)
{
	struct ws_node *nearest = ws_nodes_held(0);
	unsigned int number;

	/* A CPU that never came may have no NUMA node yet. */
	if (cpu_to_node(cpu) == NUMA_NO_NODE || !node_online(cpu_to_node(cpu)))
		return nearest;
	for (number = 1; number < nodes_count; number++) {
		struct ws_node *node = ws_nodes_held(number);

		if (node && distance(cpu, node) < distance(cpu, nearest))
			nearest = node;
	}
	return nearest;
}

void ws_nodes_map(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		rcu_assign_pointer(serving[cpu], nearest_node(cpu));
}

void ws_nodes_withdraw(struct ws_node *node)
{
	RCU_INIT_POINTER(nodes[node->number], NULL);
	ws_nodes_map();
	/* Pairs with rcu_read_lock() of each reader: node-retire.litmus. */
	synchronize_rcu();
}

int ws_nodes_init(void)
{
	serving = ws_alloc(nr_cpu_ids * sizeof(*serving));
	return serving ? 0 : -ENOMEM;
}

void ws_nodes_exit(void)
{
	unsigned int number;

	mutex_lock(&ws_nodes_lock);
	for (number = 0; number < nodes_count; number++)
		if (ws_nodes_held(number))
			ws_free_on_node(ws_nodes_held(number),
					sizeof(struct ws_node));
	mutex_unlock(&ws_nodes_lock);
	ws_free(serving, nr_cpu_ids * sizeof(*serving));
}
