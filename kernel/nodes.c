// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The table of nodes. Readers find theirs by two loads under rcu_read_lock(). While the
 * table changes, one pointer at a time, each pointer that a reader can see is valid.
 */
#include <linux/nodemask.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/topology.h>

#include "generation.h"
#include "hash.h"
#include "memory.h"
#include "nodes.h"
#include "phase.h"
#include "testing.h"

DEFINE_MUTEX(ws_nodes_lock);

static struct ws_node __rcu *nodes[WS_MAX_NODES];
static unsigned int nodes_count;
/* The node that serves each NUMA node, whether that is online or not. */
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
	return rcu_dereference(serving[numa_node_id()]);
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
 * A node that comes meanwhile is published before it draws on node 0 (topology.c). So it is
 * found here, or what it draws depends on what node 0 has got, which callers see to first.
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

static struct ws_node *nearest_node(int numa_node)
{
	struct ws_node *nearest = ws_nodes_held(0);
	unsigned int number;

	if (!node_online(numa_node))
		return nearest;
	for (number = 1; number < nodes_count; number++) {
		struct ws_node *node = ws_nodes_held(number);

		if (node && node_distance(numa_node, node->numa_node) <
			    node_distance(numa_node, nearest->numa_node))
			nearest = node;
	}
	return nearest;
}

void ws_nodes_map(void)
{
	int numa_node;

	for (numa_node = 0; numa_node < nr_node_ids; numa_node++)
		rcu_assign_pointer(serving[numa_node], nearest_node(numa_node));
}

void ws_nodes_withdraw(struct ws_node *node)
{
	RCU_INIT_POINTER(nodes[node->number], NULL);
	ws_nodes_map();
	synchronize_rcu();
}

int ws_nodes_init(void)
{
	serving = ws_alloc(nr_node_ids * sizeof(*serving));
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
	ws_free(serving, nr_node_ids * sizeof(*serving));
}
