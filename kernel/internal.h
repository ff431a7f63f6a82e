/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the chapters of the module share, in their order: a chapter calls only
 * the chapters above it.
 */
#ifndef WELLSPRING_INTERNAL_H
#define WELLSPRING_INTERNAL_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
/* With PREEMPT_RT each task counts the softirqs that it disabled. */
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "cipher.h"
#include "compat.h"
#include "machine.h"
#include "wellspring.h"

/* For wellspring_crypto and the tests. Other modules see wellspring.h alone. */
#define WS_EXPORT(symbol) EXPORT_SYMBOL_NS_GPL(symbol, WS_NAMESPACE)

/*
 * What the module of the tests needs beyond wellspring.h. Built with WELLSPRING_TESTS=1 alone: a
 * module for users exports none of it.
 */
#ifdef WELLSPRING_TESTS
#define WS_EXPORT_FOR_TEST(symbol) WS_EXPORT(symbol)
#else
#define WS_EXPORT_FOR_TEST(symbol)
#endif

/* memory.c: memory for secrets, zeroed when it is allocated, and wiped before it is freed. */

/*
 * Counts the steps of loading that can fail, and returns whether this one must: tests
 * make each of them fail once (parameter fail_step).
 */
bool ws_step_fails(void);

/* Zeroed memory, or NULL. Task context. */
void *ws_alloc(size_t size);
/*
 * The same in the memory of one NUMA node: never in another node's. Whole
 * pages: in a slab, what others keep there would hold the memory when the node
 * leaves.
 */
void *ws_alloc_on_node(size_t size, int numa_node);
void ws_free_on_node(void *memory, size_t size);
/* The NUMA node that such memory is in. */
int ws_memory_node(const void *memory);
void ws_free(void *memory, size_t size);

/* cipher.c: FPU sections, ciphers, keystreams. */

/* The most output of one FPU section: about 2 us of AES-NI. */
#define WS_SECTION_BYTES 4096

/* Each context can be interrupted by all that follow it. */
enum ws_context {
	WS_TASK,
	WS_SOFTIRQ,
	WS_HARDIRQ,
	WS_CONTEXTS,
	WS_NMI = WS_CONTEXTS,	/* has nothing of ours */
};

static inline enum ws_context ws_context(void)
{
	unsigned int level = interrupt_context_level();

	/* With PREEMPT_RT the preemption count does not know of softirqs. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !level)
		level = !!in_serving_softirq();
	return level;
}

/* "task", "softirq" or "hardirq". */
const char *ws_context_name(enum ws_context context);

/* A section that has begun, or was refused. */
struct ws_simd {
	bool is_usable;
	bool is_refused;	/* not usable where it mostly is, and counted */
	bool holds_cpu;
	struct ws_arch_simd arch;
};

/* For one CPU, by context. */
struct ws_simd_statistics {
	u64 sections[WS_CONTEXTS];
	u64 refusals[WS_CONTEXTS];
};

/*
 * Any context but NMI. False: the FPU cannot be used here; the refusal is counted, and
 * there is nothing to end. The end wipes all vector registers.
 */
bool ws_simd_begin(struct ws_simd *simd);
void ws_simd_end(struct ws_simd *simd);

/* Wipes the stack that functions which the caller called before have left, 768 bytes. */
void ws_wipe_stack(void);
/*
 * The same around functions of the kernel's library on secrets, which begin and end FPU
 * sections themselves, or use scalar code where the FPU is refused: the library may be
 * called, and ws_simd_unguard() follows, in either case.
 */
bool ws_simd_guard(struct ws_simd *simd);
void ws_simd_wipe_and_release(struct ws_simd *simd);

/* Inlined, so that the stack is wiped from the frame that called the library. */
static __always_inline void ws_simd_unguard(struct ws_simd *simd)
{
	ws_wipe_stack();
	ws_simd_wipe_and_release(simd);
}

void ws_simd_statistics(int cpu, struct ws_simd_statistics *statistics);

/* The key, and after it the rest of its round keys, once a section has made them. */
struct ws_aes_key {
	bool is_expanded;
	u32 words[60];
};

/* The cipher of all generators and taps, chosen when the module is loaded. */
extern enum ws_cipher ws_cipher;

const char *ws_cipher_name(enum ws_cipher cipher);
const char *ws_backend_name(enum ws_cipher cipher, enum ws_backend backend);

/* The backend of keystreams that start now: the fastest that this CPU has. */
enum ws_backend ws_best_backend(enum ws_cipher cipher);
/*
 * For tests: keystreams that start from now on use @backend, which is at most
 * the detected one. Returns the backend before.
 */
enum ws_backend ws_use_backend(enum ws_cipher cipher, enum ws_backend backend);

/*
 * A keystream: output of a cipher under one key, from one counter on. It is on the stack of
 * the function that makes output: 280 bytes. The same function wipes it with ws_keystream_wipe().
 */
struct ws_keystream {
	enum ws_cipher cipher;
	enum ws_backend backend;
	struct ws_counter counter;
	union {
		struct ws_aes_key aes;
		u32 chacha_key[WS_KEY_BYTES / 4];
	};
};

/* All in any context but NMI. */
void ws_keystream_init(struct ws_keystream *keystream, enum ws_cipher cipher,
		       const u8 key[WS_KEY_BYTES],
		       const struct ws_counter *counter);
/*
 * The next @len bytes. A partial block takes a whole step of the counter. Made in FPU
 * sections of WS_SECTION_BYTES, or by scalar code where the FPU is refused.
 */
void ws_keystream_fill(struct ws_keystream *keystream, void *buf, size_t len);
void ws_keystream_wipe(struct ws_keystream *keystream);

/* fortuna.c: hashes, pools, the generator. */

/*
 * SHAd-256 (FS&K 5.4.2): SHA256(SHA256(first | second | third)), written to @digest,
 * which may be one of the parts. A part of 0 bytes is empty.
 */
void ws_sha_d256(u8 digest[SHA256_DIGEST_SIZE], const void *first,
		 size_t first_bytes, const void *second, size_t second_bytes,
		 const void *third, size_t third_bytes);
/*
 * SHAd-256 of a domain, a node's number and a secret: what one secret gives to each node,
 * so that no two nodes ever have the same state.
 */
void ws_hash_for_node(u8 digest[SHA256_DIGEST_SIZE], const char *domain,
		      unsigned int number, const void *secret, size_t len);

/*
 * Fortuna's accumulator: 32 pools that fill equally fast. Every 2^i-th reseed
 * empties pool i. It takes no lock: harvester.c owns the only accumulator.
 */

/* With ten reseeds a second, pool 31 is used once in 6.8 years (FS&K 9.5.2). */
#define WS_POOLS 32
/* No reseed happens while pool 0 has fewer bytes (MinPoolSize in FS&K). */
#define WS_MIN_POOL_BYTES 64
/* The least time between two reseeds (FS&K 9.5.5). */
#define WS_RESEED_INTERVAL_MS 100
/* The most data an event carries (FS&K 9.5.3.1). */
#define WS_EVENT_BYTES 32
#define WS_SEED_BYTES (WS_POOLS * SHA256_DIGEST_SIZE)

/* A sample of noise on its way to a pool. */
struct ws_event {
	u32 counter;		/* the low bits of the cycle counter */
	u8 source;		/* enum ws_source */
	u8 bytes;
	u16 credit_bits;
	u8 data[WS_EVENT_BYTES];
};

/* The material of one reseed: 32 bytes for each pool used. */
struct ws_seed {
	u32 bytes;
	u32 credit_bits;
	u8 data[WS_SEED_BYTES];
};

struct ws_pool {
	struct sha256_ctx hash;
	u32 bytes;
	u32 credit_bits;
};

struct ws_accumulator {
	struct ws_pool pools[WS_POOLS];
	u32 reseeds;		/* FS&K's ReseedCnt */
	bool reseeded;
	u64 reseeded_ms;
};

/* All in any context. */
void ws_accumulator_init(struct ws_accumulator *accumulator);
/* Between ws_simd_guard() and ws_simd_unguard(), which events share. */
void ws_accumulator_absorb(struct ws_accumulator *accumulator,
			   const struct ws_event *event, unsigned int pool);
/*
 * Hashes in what came from no source. It counts as credit, but not as bytes: however much
 * is mixed, no reseed is due for it. The next reseed uses it.
 */
void ws_accumulator_mix(struct ws_accumulator *accumulator, const void *data,
			size_t len, u32 credit_bits);
/* The credit of the seed of the next reseed, were it taken now. */
u32 ws_accumulator_next_credit_bits(const struct ws_accumulator *accumulator);
/*
 * Takes the seed of the next reseed. False if pool 0 holds less than 64 bytes, or if
 * the last reseed was less than 100 ms before @now_ms and @unpaced is false.
 */
bool ws_accumulator_take_seed(struct ws_accumulator *accumulator, u64 now_ms,
			      bool unpaced, struct ws_seed *seed);

/*
 * Fortuna's generator: a key K, a counter C, and the three operations on them. It
 * takes no lock: the caller owns the generator.
 */

/* The most output under one AES key: 2^20 bytes (FS&K 9.4). */
#define WS_KEY_LIMIT_BYTES (1 << 20)

struct ws_generator {
	enum ws_cipher cipher;
	struct ws_counter counter;
	u8 key[WS_KEY_BYTES];
};

/* The output of one request, which nothing else will ever make. Its key is set up once. */
struct ws_reservation {
	struct ws_keystream keystream;
};

/* All in any context but NMI. */
void ws_generator_init(struct ws_generator *generator, enum ws_cipher cipher);

static inline bool ws_generator_is_seeded(const struct ws_generator *generator)
{
	return !ws_counter_is_zero(&generator->counter);
}

void ws_generator_reseed(struct ws_generator *generator, const void *seed,
			 size_t len);
/*
 * A canonical read takes a new key after at most 4096 bytes. So it is a row of
 * reservations: this is the length of the next one, when @len bytes are wanted still. A read
 * of 0 bytes reserves once.
 */
size_t ws_canonical_bytes(enum ws_cipher cipher, size_t len);
/* Sets @len bytes of output aside, to be made later without the generator. */
void ws_generator_reserve(struct ws_generator *generator, size_t len,
			  struct ws_reservation *reservation);
/* Makes the reserved output, once, and wipes the reservation. */
void ws_reservation_generate(struct ws_reservation *reservation,
			     void *buf, size_t len);

/* node.c: how far seeding has come, the generation, and the nodes. */

static inline u64 ws_now_ms(void)
{
	return ktime_to_ms(ktime_get());
}

/* The phase only ever moves forward. */
enum ws_phase {
	WS_EMPTY,	/* no credited seed */
	WS_EARLY,	/* node 0 has one: wellspring_get_early_bytes() works */
	WS_READY,	/* 128 bits were credited, every node is initialised: reads work */
};

/* Any context. */
enum ws_phase ws_phase(void);
const char *ws_phase_name(enum ws_phase phase);

/* Moves forward to @next; a phase before the present one changes nothing. Any context. */
void ws_phase_advance(enum ws_phase next);

/* Wakes all that wait, if the phase changed since the last call. Task context. */
void ws_phase_announce(void);

/* Woken by ws_phase_announce(). */
extern wait_queue_head_t ws_phase_wait;

/*
 * The number that ties every tap to its node: a tap with another generation than this
 * one takes a fresh key before its next byte.
 */

/* The generation of a tap without a key. ws_generation() never returns it. */
#define WS_NO_GENERATION 0

/* For the two functions below, which each read calls. */
extern atomic64_t ws_generation_number;

/*
 * Any context. Pairs with ws_generation_bump(): generation-fetch.litmus,
 * generation-other-reader.litmus.
 */
static inline u64 ws_generation(void)
{
	return atomic64_read_acquire(&ws_generation_number);
}

/*
 * Whether a key of this generation may still make bytes. It orders nothing, and need not:
 * generation-hot.litmus.
 */
static inline bool ws_generation_is(u64 generation)
{
	return atomic64_read(&ws_generation_number) == generation;
}

/* Called after the seeds that it announces were posted. Returns the new generation. */
u64 ws_generation_bump(void);

/*
 * One node: a generator behind a lock, and the mailbox that feeds it.
 */

/* The most credit that a node keeps: the capacity of Linux's old nonblocking pool. */
#define WS_CAPACITY_BITS 1024
/* A node with less credit gets seeds before others: 75 % of the capacity. */
#define WS_SERVED_FIRST_BELOW_BITS (WS_CAPACITY_BITS / 4 * 3)

/*
 * A seed on its way to a node, so that the sender does not wait for readers. It holds one
 * seed, and is full only while a reader has the lock, or until the next one has it.
 */
struct ws_mailbox {
	bool full;
	struct ws_seed seed;
};

/* The reader's cache lines come first, the harvester's after them. */
struct ws_node {
	raw_spinlock_t lock;
	unsigned int number;	/* 0 is the root */
	int numa_node;		/* that it belongs to */
	u32 cache;		/* ws_cache() of the CPUs that it belongs to */
	struct ws_generator generator;
	u64 credited_bits;	/* received, in all */
	u32 credit_bits;	/* received minus output: who gets the next seed */
	u64 reseeds;
	u64 reseeded_ms;
	u64 reservations;
	u64 contended;
	u64 lock_wait_ns;

	struct ws_mailbox mailbox ____cacheline_aligned_in_smp;
} ____cacheline_aligned_in_smp;

struct ws_node_statistics {
	int numa_node;		/* that it belongs to */
	u32 cache;		/* of the CPUs that it belongs to; 0 if topology=numa */
	int memory_node;	/* that its memory is in: the same one */
	u64 reservations;	/* times that the lock was taken for output */
	u64 contended;		/* times that the lock was not free */
	u64 lock_wait_ns;	/* the time spent waiting for it, in all */
	u64 reseeds;		/* seeds received */
	u64 reseed_age_ms;	/* since the last seed; U64_MAX if there was none */
	u64 credited_bits;	/* credit received, in all */
	u32 credit_bits;	/* credit left */
	bool mailbox_full;
};

/* All in any context but NMI. */
void ws_node_init(struct ws_node *node, unsigned int number, int numa_node, u32 cache);

/*
 * One caller at a time, the harvester. Puts a seed into the mailbox and has the node take
 * it, unless a reader holds the lock: the next reader then empties the mailbox. False, and
 * nothing is posted, if the mailbox is still full.
 */
bool ws_node_feed(struct ws_node *node, const void *seed, size_t len,
		  u32 credit_bits);
/* Empties the mailbox, unless the lock is taken. True if it is empty. */
bool ws_node_has_room(struct ws_node *node);
bool ws_node_is_served_first(const struct ws_node *node);

/* 0, or -EAGAIN before the first credited seed. */
int ws_node_reserve(struct ws_node *node, size_t len,
		    struct ws_reservation *reservation);
/* Hashes a seed into the generator at once, without the mailbox. */
void ws_node_reseed(struct ws_node *node, const void *seed, size_t len,
		    u32 credit_bits);

u64 ws_node_credited_bits(const struct ws_node *node);
void ws_node_statistics(struct ws_node *node,
			struct ws_node_statistics *statistics);

/*
 * The number of a CPU's last-level cache if topology=llc, and 0 if topology=numa. A CPU has it from
 * its first start on.
 */
u32 ws_cache(int cpu);
/* Whether the CPU is of the node's NUMA node and cache. */
bool ws_node_is_of(const struct ws_node *node, int cpu);

/*
 * All nodes by number, and which of them serves which CPU.
 */

/* Node numbers are below this. A machine with more NUMA nodes or caches shares the first ones. */
#define WS_MAX_NODES 64

/* How many numbers were ever in use: 0 .. ws_nodes_count() - 1. Some may be gone. */
unsigned int ws_nodes_count(void);

/* Under rcu_read_lock(): node 0; the node of this CPU; the node @number, or NULL. */
struct ws_node *ws_nodes_root(void);
struct ws_node *ws_nodes_here(void);
struct ws_node *ws_nodes_get(unsigned int number);

/* Below, unless said otherwise: any context but NMI. */

/*
 * Reserves @len bytes on the node that serves this CPU, or with @root on node 0; on node 0
 * too while it is the only one. 0, or -EAGAIN before the first credited seed.
 */
int ws_nodes_reserve(bool root, size_t len, struct ws_reservation *reservation);

/* 0; -ENODATA if this number has no node now; -ENXIO past the last number. */
int ws_nodes_check(unsigned int number);
/* The same, or -EAGAIN before Ready. Output of one node, to be its seed after a reboot. */
int ws_nodes_save(unsigned int number, void *seed, size_t len);
/* Hashes a seed into one node. Errors as ws_nodes_check(). The generation stays. */
int ws_nodes_reseed(unsigned int number, const void *seed, size_t len,
		    u32 credit_bits);
/*
 * Hashes @secret into every node from number @first on, each time with the domain and the
 * node's number. Then it bumps the generation: no read that begins after this call returns
 * a byte that does not depend on @secret.
 */
void ws_nodes_stir(const char *domain, unsigned int first, const void *secret,
		   size_t len, u32 credit_bits);

/* The reservations on all nodes so far. */
u64 ws_nodes_reservations(void);
/* False if there is no such node now. */
bool ws_nodes_statistics(unsigned int number,
			 struct ws_node_statistics *statistics);

/* For topology.c, which holds this lock where it changes the table. Task context. */
extern struct mutex ws_nodes_lock;

/* The node @number, or NULL. */
struct ws_node *ws_nodes_held(unsigned int number);
/* A number that is free, or WS_MAX_NODES. */
unsigned int ws_nodes_free_number(void);
void ws_nodes_publish(struct ws_node *node);
/* Takes a node out, and returns when its last reader is gone. Not for node 0. */
void ws_nodes_withdraw(struct ws_node *node);
/* Has each CPU served by the nearest node. */
void ws_nodes_map(void);
/* topology.c calls them. 0 or -ENOMEM. */
int ws_nodes_init(void);
void ws_nodes_exit(void);

/* tap.c: taps, reads, pseudo bytes. */

/*
 * Taps: a key and a buffer for each CPU and context. Small reads take no lock, and
 * erase what they take.
 */

/* One refill makes the next key and this buffer: 1024 bytes in one FPU section. */
#define WS_TAP_BUFFER_BYTES (1024 - WS_KEY_BYTES)

struct ws_tap_statistics {
	u64 reads;
	u64 fetches;		/* keys drawn from the node */
	u64 refills;
	u64 deeper;		/* reads that found the tap busy and used the node */
};

void ws_tap_statistics(int cpu, enum ws_context context,
		       struct ws_tap_statistics *statistics);
/* The reads of all taps so far. */
u64 ws_taps_reads(void);
/* Wipes the taps of a CPU that is offline. */
void ws_taps_wipe(int cpu);

/* For tests: no key and no output is left in the taps of a CPU that is offline. */
bool ws_taps_are_wiped(int cpu);

/* A read, in each of the four modes. */
enum ws_mode {
	WS_CANONICAL,		/* the root's lock is taken for each 4096 bytes of output; of tasks, in turn */
	WS_CONCURRENT,		/* and here for each read */
	WS_PER_NODE,		/* on the node of the reader's CPU */
	WS_PER_CPU,		/* from the reader's tap */
	WS_MODES,
};

enum ws_mode ws_mode(void);
const char *ws_mode_name(enum ws_mode mode);
/* wellspring_get_bytes() in a mode of the caller's choice. */
int ws_read(enum ws_mode mode, void *buf, size_t len);
/*
 * The same for a task that may sleep, as a reader of the device. In canonical it makes each 4096
 * bytes under a mutex, as the readers of FreeBSD did.
 */
int ws_read_sleeping(enum ws_mode mode, void *buf, size_t len);

/* source.c: health tests, sources, queues, and what users write. */

/*
 * Continuous health tests of raw samples (SP 800-90B 4.4), and what follows from them.
 */

/* The samples that must pass in a row before a quarantine ends. */
#define WS_HEALTH_RETURN_SAMPLES 1024
/* 3 failures, without WS_HEALTH_FORGET_SAMPLES good samples between, disable a source. */
#define WS_HEALTH_MAX_FAILURES 3
#define WS_HEALTH_FORGET_SAMPLES (1 << 16)

enum ws_health_state {
	WS_HEALTH_ACTIVE,	/* samples are used */
	WS_HEALTH_QUARANTINED,	/* it failed: samples are tested and discarded */
	WS_HEALTH_DISABLED,	/* it failed too often */
};

/* All zeros is a source without history: active. */
struct ws_health {
	enum ws_health_state state;
	u32 passed;		/* samples since the last failure */
	u32 failures;		/* in a row */
	/* Repetition count (4.4.1) */
	u8 last;
	u32 run;		/* how often the last sample came; 0 before the first */
	/* Adaptive proportion (4.4.2) */
	u8 first;
	u32 position;
	u32 count;
};

/* Tests samples of one byte each. True if they may be used. */
bool ws_health_judge(struct ws_health *health, const u8 *samples, size_t len);
/* "active", "quarantined" or "disabled". */
const char *ws_health_state_name(enum ws_health_state state);

/*
 * The table of sources of noise. Some can be asked for a sample, others send samples by
 * themselves, to queues.
 */

enum ws_source {
	/* Each of these has a queue on each CPU. */
	WS_SOURCE_HWRNG,	/* what hwrng feeds to the kernel's own pool */
	WS_SOURCE_INTERRUPT,	/* when interrupts come */
	WS_SOURCE_SCHEDULER,	/* when tasks are switched */
	WS_QUEUED_SOURCES,
	WS_SOURCE_SYSTEM = WS_QUEUED_SOURCES,	/* get_random_bytes() */
	WS_SOURCE_CPU,		/* RDSEED, or RDRAND; RNDRRS, or RNDR */
	WS_SOURCE_MIX,		/* what users and other modules write */
	WS_SOURCES,
};

struct ws_source_statistics {
	const char *name;
	bool present;		/* on this machine */
	enum ws_health_state health;
	u64 events;		/* absorbed by the pools */
	u64 credit_bits;
};

void ws_source_statistics(enum ws_source source,
			  struct ws_source_statistics *statistics);

/* The hooks of this source are in place, or were removed. */
void ws_source_set_present(enum ws_source source, bool present);

/* The most bytes of one sample. */
#define WS_SAMPLE_BYTES 256

/*
 * Task context, with the pools' lock held. Writes a sample of at most @len bytes and the
 * credit that the source claims for each byte of it. Returns how many bytes it wrote: 0
 * if the source is absent, not healthy or has nothing now.
 */
size_t ws_source_draw(enum ws_source source, u8 *sample, size_t len,
		      u32 *credit_bits_per_byte);

/*
 * With the pools' lock held. Tests the raw samples of a timing or hwrng event: false if
 * it must not be used.
 */
bool ws_source_judge(const struct ws_event *event);
/*
 * With the pools' lock held. Counts an event, and returns the pool that it goes to: each
 * source fills all pools in turn.
 */
unsigned int ws_source_count(enum ws_source source, u32 credit_bits);

/*
 * A queue of events for each CPU and source. It is lossy: a push never waits, and is
 * dropped if the queue is full or busy. A flood in one source takes no place from another.
 */

/* The events that a queue holds. */
#define WS_QUEUE_EVENTS 32

struct ws_queue_statistics {
	u64 events;		/* taken in */
	u64 dropped;		/* not taken in: full, or a push was under way already */
};

/* An event that happens now. At most WS_EVENT_BYTES are copied. Any context. */
void ws_event_init(struct ws_event *event, enum ws_source source,
		   const void *data, size_t len, u32 credit_bits);

/* To this CPU's queue of this source. Any context but NMI. */
void ws_queue_push(enum ws_source source, const void *data, size_t len,
		   u32 credit_bits);

/* The next two: one caller at a time. The CPU may be offline. */

/* The oldest event, or NULL. */
const struct ws_event *ws_queue_first(int cpu, enum ws_source source);
/* Wipes it, and makes room for another. */
void ws_queue_drop_first(int cpu, enum ws_source source);

void ws_queue_statistics(int cpu, enum ws_source source,
			 struct ws_queue_statistics *statistics);

/*
 * Hashes data into this CPU's digest for the next round of the harvester. No credit, no loss.
 * Task or softirq, with interrupts on.
 */
void ws_mix(const void *data, size_t len);

/*
 * The hash of all that came through a CPU since the last call. False if nothing came,
 * or if a writer is there and @may_wait is false: then the data stays for the next
 * call. Task context. The CPU may be offline.
 */
bool ws_mix_take(int cpu, bool may_wait, u8 digest[SHA256_DIGEST_SIZE]);

/* topology.c: which node gets which seed; nodes that come and go. */

/* With the pools' lock held, all four. */

/*
 * Whether a seed with this credit may leave the pools. The first, early seed may, if it has any
 * credit. Then, until the root is ready, only a seed of 128 bits may: small credits stay in the
 * pools until they add up to 128 bits.
 */
bool ws_distribution_accepts(u32 credit_bits);
/* False if the root has not taken the last seed, since a reader holds its lock. */
bool ws_distribution_has_room(void);
/*
 * In a round of the harvester, while there is room: gives a seed to the root, and another
 * one to the node whose turn it is, and bumps the generation. Waits for no lock.
 */
void ws_distribution_deliver(const struct ws_seed *seed);
/* By order: gives a seed to every node, and bumps the generation then. */
void ws_distribution_order(const struct ws_seed *seed);

/*
 * Task context. From Early to Ready, once the root has its 128 bits: initialises all
 * nodes. Then wakes all that wait for the phase.
 */
void ws_topology_grow(void);

/*
 * For tests: retires a node as if its memory had left, and then makes it again. 0 or a
 * negative errno. Not for node 0.
 */
int ws_topology_replace(unsigned int number);

/*
 * harvester.c: owns the pools, and a thread that draws on sources, drains the queues
 * into the pools, and delivers seeds when a reseed is due.
 */

struct ws_harvester_statistics {
	u64 rounds;		/* of the thread */
	u64 reseeds;		/* seeds taken from the pools */
	u64 held_back;		/* reseeds put off: a reader of node 0 had not taken the last seed */
	u32 first_pool_bytes;
	u64 rounds_ns;		/* the time of all rounds */
};

/* Task context. All of them may sleep until the pools are free. */

/*
 * An operator's orders. Each draws on every source, takes what was given to ws_mix()
 * before, and reseeds every node, even if the last reseed was less than 100 ms ago. Of the
 * locks of readers it waits for the nodes' alone. 0: no read that begins now returns a
 * byte that does not depend on the new seed. -EAGAIN: all of it stays in the pools, since
 * Ready waits for 128 bits in one seed.
 */
int ws_reseed(void);
/* Credits what was given to ws_mix() before. */
int ws_credit(u32 credit_bits);
/*
 * The seed that node @number once saved, of WS_KEY_BYTES. -ENODATA and -ENXIO as
 * ws_nodes_check().
 */
int ws_restore(unsigned int number, const u8 *saved, u32 credit_bits);

/* For tests: no round of the thread begins until it is called with false. */
void ws_harvester_park(bool park);
/* For tests, while it is parked: a round that does not wait for its pace. */
void ws_harvester_round(void);

void ws_harvester_statistics(struct ws_harvester_statistics *statistics);

/* chardev.c: the device and the rng. The ioctls of uapi.h, for tests. */

long ws_ioctl(struct file *file, unsigned int command, unsigned long argument);

/*
 * How many of @bits that a user says of @len bytes of data count: 8 a byte at most, and no
 * more than a key has. Neither is negative.
 */
int ws_ioctl_credit_bits(int bits, int len);

/* What main.c calls, in this order. 0 or a negative errno. */

/* Which registers there are to wipe. */
int ws_simd_init(void);
/* Reads the parameter and detects backends. */
int ws_backends_init(void);
/* Checks known answers (answers.c). -EBADMSG if one is wrong. */
int ws_answers_check(void);
int ws_pseudo_init(void);
int ws_taps_init(void);
void ws_taps_exit(void);
int ws_queues_init(void);
void ws_queues_exit(void);
int ws_mix_init(void);
void ws_mix_exit(void);
int ws_topology_init(void);
void ws_topology_exit(void);
int ws_sources_init(void);
int ws_harvester_init(void);
void ws_harvester_exit(void);
int ws_timing_init(void);
void ws_timing_exit(void);
int ws_hwrng_init(void);
void ws_hwrng_exit(void);
int ws_device_init(void);
void ws_device_exit(void);
void ws_rng_init(void);
void ws_rng_exit(void);

#endif
