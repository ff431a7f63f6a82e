// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which nodes there are, and which of them gets which seed.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/memory.h>
#include <linux/minmax.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/topology.h>

#include "internal.h"

/*
 * Seeds. Every reseed reseeds node 0, the root, exactly as Fortuna says. Until the root has
 * had a seed of READY_BITS it is the only node in use. Then each other node is initialised
 * from it. From then on every reseed also gives a seed to one other node: every second seed
 * goes to the node whose turn it is, the seeds in between go first to nodes with less than
 * 75 % of WS_CAPACITY_BITS. These are the rules of the per-node pools once proposed for
 * Linux, except for the turns: readers use up the credit of their node, and without turns
 * that node would get all seeds. An order reseeds all nodes.
 *
 * A node takes its seed at once, whether or not it is read: what memory once held says
 * nothing about its output after its next turn.
 *
 * One more thing is different. Reseed number r uses pool i if 2^i divides r. A node that
 * gets the seeds of every second reseed, for example, would never see any pool but 0, and
 * an attacker who knows pool 0 would always know that node. So a node's seed is taken from
 * a hash chain over all seeds: a seed that recovers the root recovers every node when its
 * turn comes.
 */

/* The credit of one seed after which the root is ready. */
#define READY_BITS 128

static const char node_domain[] = "wellspring node seed";

/* The pools' lock is held for these. */
static u8 chain[SHA256_DIGEST_SIZE];
static bool has_given;		/* a seed has left the pools */
static bool by_credit;		/* the next seed: first to nodes low on credit */
static unsigned int last_in_turn, last_by_credit;

static u64 root_credited_bits(void)
{
	u64 credited_bits;

	rcu_read_lock();
	credited_bits = ws_node_credited_bits(ws_nodes_root());
	rcu_read_unlock();
	return credited_bits;
}

/* The early seed has less, and no other seed with less comes after it: see below. */
static bool is_ready(void)
{
	return root_credited_bits() >= READY_BITS;
}

/*
 * Premature next (Dodis and others, How to Eat Your Entropy and Have it Too,
 * 2014): an attacker who reads after each of 16 seeds of 8 bits guesses each of
 * them, though they are 128 bits together.
 */
bool ws_distribution_accepts(u32 credit_bits)
{
	return credit_bits >= READY_BITS || (credit_bits && !has_given) ||
	       is_ready();
}

/*
 * A published node's first seed, drawn from the root. 0, or -EAGAIN before the root is ready.
 */
static int initialise_node(struct ws_node *node)
{
	struct ws_reservation reservation;
	u8 seed[SHA256_DIGEST_SIZE];
	int error;

	if (!is_ready())
		return -EAGAIN;
	error = ws_nodes_reserve(true, sizeof(seed), &reservation);
	if (error)
		return error;
	ws_reservation_generate(&reservation, seed, sizeof(seed));
	ws_hash_for_node(seed, "wellspring node first seed", node->number, seed,
			 sizeof(seed));
	ws_node_reseed(node, seed, sizeof(seed),
		       min_t(u64, root_credited_bits(), 8 * sizeof(seed)));
	memzero_explicit(seed, sizeof(seed));
	return 0;
}

bool ws_distribution_has_room(void)
{
	bool has_room;

	rcu_read_lock();
	has_room = ws_node_has_room(ws_nodes_root());
	rcu_read_unlock();
	return has_room;
}

/* One way: the chain does not reveal its earlier values. */
static void extend_chain(const struct ws_seed *seed)
{
	static const char domain[] = "wellspring seed chain";

	ws_sha_d256(chain, domain, strlen(domain), chain, sizeof(chain),
		    seed->data, seed->bytes);
	has_given = true;
}

static u32 chain_credit_bits(const struct ws_seed *seed)
{
	return min_t(u32, seed->credit_bits, 8 * sizeof(chain));
}

static bool feed_node(struct ws_node *node, u32 credit_bits)
{
	u8 seed[SHA256_DIGEST_SIZE];
	bool fed;

	ws_hash_for_node(seed, node_domain, node->number, chain, sizeof(chain));
	fed = ws_node_feed(node, seed, sizeof(seed), credit_bits);
	memzero_explicit(seed, sizeof(seed));
	return fed;
}

/*
 * Feeds the first node after @last that is there, or that is @low on credit. A node whose
 * first reader in a long time holds the lock just now is passed over: that reader takes
 * the last seed.
 */
static bool feed_next(unsigned int *last, bool low, u32 credit_bits)
{
	unsigned int others = ws_nodes_count() - 1, step;

	for (step = 0; step < others; step++) {
		unsigned int number = 1 + (*last + step) % others;
		struct ws_node *node = ws_nodes_get(number);

		if (!node || (low && !ws_node_is_served_first(node)) ||
		    !feed_node(node, credit_bits))
			continue;
		*last = number;
		return true;
	}
	return false;
}

void ws_distribution_deliver(const struct ws_seed *seed)
{
	u32 credit_bits = chain_credit_bits(seed);

	extend_chain(seed);
	rcu_read_lock();
	ws_node_feed(ws_nodes_root(), seed->data, seed->bytes, seed->credit_bits);
	if (ws_phase() == WS_READY) {
		if (!by_credit || !feed_next(&last_by_credit, true, credit_bits))
			feed_next(&last_in_turn, false, credit_bits);
		by_credit = !by_credit;
	}
	rcu_read_unlock();
	ws_generation_bump();
}

void ws_distribution_order(const struct ws_seed *seed)
{
	extend_chain(seed);
	ws_nodes_reseed(0, seed->data, seed->bytes, seed->credit_bits);
	ws_nodes_stir(node_domain, 1, chain, sizeof(chain), chain_credit_bits(seed));
}

/*
 * Makes and retires nodes while CPUs and memory come and go.
 *
 * A NUMA node with memory and CPUs gets a node of ours, in its own memory; with topology=llc it
 * gets one for each last-level cache of its CPUs. The CPUs of any other are served by the
 * nearest that has one. There is always a root.
 *
 * Memory means memory that the kernel may use for itself. Memory that was made movable,
 * so that it can leave, has room for users' pages only: a node cannot be there, and a
 * NUMA node that has no other memory is served by the nearest.
 *
 * If all CPUs of a node leave, it is withdrawn, and when its last reader is
 * gone, output of its generator is mixed into the pools before it is wiped. Otherwise
 * its pages would keep that memory from leaving. The root stays in any case, and all
 * stay during a suspend, which takes all CPUs but one away for a moment.
 */

/* Callbacks for CPUs that have come, and for CPUs that are gone. */
static int online_state, gone_state;

/* Linux 6.18 sets N_NORMAL_MEMORY at boot alone, not for memory that comes later. */
static bool has_memory(int numa_node)
{
	struct zone *zones;
	unsigned int i;

	if (!node_online(numa_node))
		return false;
	zones = NODE_DATA(numa_node)->node_zones;
	for (i = 0; i <= ZONE_NORMAL; i++)
		if (managed_zone(&zones[i]))
			return true;
	return false;
}

static bool has_own_node(int cpu)
{
	unsigned int number;

	for (number = 0; number < ws_nodes_count(); number++)
		if (ws_nodes_held(number) && ws_node_is_of(ws_nodes_held(number), cpu))
			return true;
	return false;
}

static bool has_cpu(const struct ws_node *node)
{
	int cpu;

	for_each_online_cpu(cpu)
		if (ws_node_is_of(node, cpu))
			return true;
	return false;
}

static int add_node(int numa_node, u32 cache)
{
	unsigned int number = ws_nodes_free_number();
	struct ws_node *node;

	if (number == WS_MAX_NODES)
		return 0;
	node = ws_alloc_on_node(sizeof(*node), numa_node);
	if (!node)
		return -ENOMEM;
	ws_node_init(node, number, numa_node, cache);
	/*
	 * First it is there for orders, then it draws on the root: so no order misses both.
	 * Readers come when ws_nodes_map() was called.
	 */
	ws_nodes_publish(node);
	/* Before that, ws_topology_grow() does it for all nodes. */
	if (ws_phase() == WS_READY)
		initialise_node(node);
	return 0;
}

/* Not for the root: its memory cannot leave. */
static void retire_node(struct ws_node *node)
{
	struct ws_reservation reservation;
	u8 bytes[WS_KEY_BYTES];

	ws_nodes_withdraw(node);
	if (!ws_node_reserve(node, sizeof(bytes), &reservation)) {
		ws_reservation_generate(&reservation, bytes, sizeof(bytes));
		ws_mix(bytes, sizeof(bytes));
		memzero_explicit(bytes, sizeof(bytes));
	}
	ws_free_on_node(node, sizeof(*node));
}

/*
 * Where no NUMA node has both memory and CPUs, the root is in any memory. On such
 * machines all memory may be in one NUMA node and all CPUs in others.
 */
static int add_root(void)
{
	int numa_node;

	for_each_online_node(numa_node)
		if (has_memory(numa_node))
			return add_node(numa_node, 0);
	return -ENOMEM;
}

/* Brings nodes up to date with the machine. */
static int refresh(void)
{
	int cpu, error = 0;

	mutex_lock(&ws_nodes_lock);
	for_each_online_cpu(cpu)
		if (has_memory(cpu_to_node(cpu)) && !has_own_node(cpu))
			error = add_node(cpu_to_node(cpu), ws_cache(cpu)) ?: error;
	if (!error && !ws_nodes_count())
		error = add_root();
	if (ws_nodes_count())
		ws_nodes_map();
	mutex_unlock(&ws_nodes_lock);
	return error;
}

static void retire_nodes_without_cpus(void)
{
	unsigned int number;

	mutex_lock(&ws_nodes_lock);
	for (number = 1; number < ws_nodes_count(); number++) {
		struct ws_node *node = ws_nodes_held(number);

		if (node && !has_cpu(node))
			retire_node(node);
	}
	mutex_unlock(&ws_nodes_lock);
}

/*
 * On the CPU itself, which knows its cache now, and before it runs its first task. If there is
 * no memory for a node, the CPU is served by the nearest.
 */
static int cpu_has_come(unsigned int cpu)
{
	refresh();
	return 0;
}

static int cpu_is_gone(unsigned int cpu)
{
	ws_taps_wipe(cpu);
	if (!cpuhp_tasks_frozen)
		retire_nodes_without_cpus();
	return 0;
}

static int memory_changed(struct notifier_block *block, unsigned long action,
			  void *data)
{
	if (action == MEM_ONLINE || action == MEM_OFFLINE)
		refresh();
	return NOTIFY_OK;
}

static struct notifier_block memory_notifier = {
	.notifier_call = memory_changed,
};

void ws_topology_grow(void)
{
	unsigned int number;
	bool initialised = true;

	mutex_lock(&ws_nodes_lock);
	if (ws_phase() == WS_EARLY && is_ready()) {
		for (number = 1; number < ws_nodes_count(); number++)
			if (ws_nodes_held(number) &&
			    initialise_node(ws_nodes_held(number)))
				initialised = false;
		if (initialised)
			ws_phase_advance(WS_READY);
	}
	mutex_unlock(&ws_nodes_lock);
	ws_phase_announce();
}

#ifdef WELLSPRING_TESTS
int ws_topology_replace(unsigned int number)
{
	struct ws_node *node;
	int error = -EINVAL;

	mutex_lock(&ws_nodes_lock);
	node = number && number < ws_nodes_count() ? ws_nodes_held(number) : NULL;
	if (node) {
		retire_node(node);
		error = 0;
	}
	mutex_unlock(&ws_nodes_lock);
	return error ?: refresh();
}
WS_EXPORT_FOR_TEST(ws_topology_replace);
#endif

int ws_topology_init(void)
{
	int ret = ws_nodes_init();

	if (ret)
		return ret;
	ret = refresh();
	if (ret)
		goto exit_nodes;
	ret = register_memory_notifier(&memory_notifier);
	if (ret)
		goto exit_nodes;
	ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "wellspring:gone",
					NULL, cpu_is_gone);
	if (ret < 0)
		goto unregister;
	gone_state = ret;
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "wellspring:online",
				cpu_has_come, NULL);
	if (ret < 0)
		goto remove_gone;
	online_state = ret;
	return 0;

remove_gone:
	cpuhp_remove_state_nocalls(gone_state);
unregister:
	unregister_memory_notifier(&memory_notifier);
exit_nodes:
	ws_nodes_exit();
	return ret;
}

void ws_topology_exit(void)
{
	cpuhp_remove_state_nocalls(online_state);
	cpuhp_remove_state_nocalls(gone_state);
	unregister_memory_notifier(&memory_notifier);
	ws_nodes_exit();
	memzero_explicit(chain, sizeof(chain));
}
