// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Readers: the locks that many of them take, that no value comes twice, what they get before a
 * seed and after it, and marked reads, which an emulator counts.
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "test.h"

/*
 * Many readers and the harvester, in each mode: which locks the reads took, and whether
 * reseeds went on. How fair the kernel's spinlock is cannot be judged in an emulator with
 * more CPUs than the host, so the shares of the readers are printed and not judged.
 */

#define READERS_PER_CPU 4
#define TIME_MS 1500
/* Rounds come every 100 ms; on a busy host the readers wait for the last of them. */
#define LEAST_ROUNDS 8

/* The counts of the nodes and taps. */
struct counts {
	u64 reservations[WS_MAX_NODES];
	u64 all_reservations;
	u64 waits;
	u64 wait_ns;
	u64 deeper;
	u64 generation;
	struct ws_harvester_statistics harvester;
};

struct crowd {
	enum ws_mode mode;
	u64 *reads;
	u32 errors;
	const struct counts *before;
};

static void read_on(struct worker *worker)
{
	struct crowd *crowd = worker->argument;
	u8 bytes[64];
	unsigned int again;

	for (again = 0; again < 16; again++) {
		if (ws_read_sleeping(crowd->mode, bytes, sizeof(bytes)))
			WRITE_ONCE(crowd->errors, 1);
		crowd->reads[worker->number]++;
		/* A lock that 8 emulated CPUs share may take each read 0.1 s. */
		give_way();
	}
}

/* The harvester made rounds, and reseeded, in spite of the readers. */
static bool harvester_goes_on(void *argument)
{
	const struct crowd *crowd = argument;
	const struct ws_harvester_statistics *before = &crowd->before->harvester;
	struct ws_harvester_statistics now;

	ws_harvester_statistics(&now);
	return now.rounds - before->rounds >= LEAST_ROUNDS &&
	       now.reseeds != before->reseeds;
}

static void take_counts(struct counts *counts)
{
	struct ws_node_statistics node;
	struct ws_tap_statistics tap;
	enum ws_context context;
	unsigned int number;
	int cpu;

	memset(counts, 0, sizeof(*counts));
	ws_harvester_statistics(&counts->harvester);
	counts->generation = ws_generation();
	for (number = 0; number < ws_nodes_count(); number++) {
		if (!ws_nodes_statistics(number, &node))
			continue;
		counts->reservations[number] = node.reservations;
		counts->all_reservations += node.reservations;
		counts->waits += node.contended;
		counts->wait_ns += node.lock_wait_ns;
	}
	for_each_possible_cpu(cpu) {
		for (context = 0; context < WS_CONTEXTS; context++) {
			ws_tap_statistics(cpu, context, &tap);
			counts->deeper += tap.deeper;
		}
	}
}

/* Where each mode has to take a lock, and how often: NULL if it is as it should be. */
static const char *locks_are_wrong(enum ws_mode mode, u64 total,
				   const struct counts *before,
				   const struct counts *after)
{
	u64 taken = after->all_reservations - before->all_reservations;
	u64 of_root = after->reservations[0] - before->reservations[0];
	unsigned int number;
	u64 most;

	switch (mode) {
	case WS_CANONICAL:
	case WS_CONCURRENT:
		return of_root < total ? "not all reads were on node 0" : NULL;
	case WS_PER_NODE:
		for (number = 0; number < ws_nodes_count(); number++)
			if (after->reservations[number] ==
			    before->reservations[number])
				return "a node had no reader";
		return taken < total ? "reads without a node" : NULL;
	default:
		/*
		 * Each tap fetches once per generation, and once more if
		 * a bump hits a fetch.
		 */
		most = (after->generation - before->generation + 2) * WS_CONTEXTS *
			       num_possible_cpus() +
		       after->deeper - before->deeper;
		return taken > most ? "taps took locks for reads" : NULL;
	}
}

static int run_readers(struct report *report, enum ws_mode mode)
{
	unsigned int count = READERS_PER_CPU * num_online_cpus(), index;
	struct counts *before, *after;
	struct crowd crowd = { .mode = mode };
	u64 least = U64_MAX, most = 0, total = 0;
	const char *wrong;
	int verdict, error;

	crowd.reads = kcalloc(READERS_PER_CPU * num_possible_cpus(),
			      sizeof(u64), GFP_KERNEL);
	before = kcalloc(2, sizeof(*before), GFP_KERNEL);
	if (!crowd.reads || !before) {
		kfree(crowd.reads);
		kfree(before);
		return failed(report, "no memory");
	}
	after = before + 1;
	take_counts(before);
	crowd.before = before;
	error = workers_run(READERS_PER_CPU, read_on, &crowd, TIME_MS,
			    harvester_goes_on);
	take_counts(after);
	for (index = 0; index < count; index++) {
		least = min(least, crowd.reads[index]);
		most = max(most, crowd.reads[index]);
		total += crowd.reads[index];
	}
	wrong = locks_are_wrong(mode, total, before, after);
	if (error == -ETIMEDOUT)
		verdict = failed(report, "in minutes: least reads %llu, %llu rounds, %llu reseeds",
				 least,
				 after->harvester.rounds - before->harvester.rounds,
				 after->harvester.reseeds -
					 before->harvester.reseeds);
	else if (error || crowd.errors)
		verdict = failed(report, "error %d in a read", error);
	else if (wrong)
		verdict = failed(report, "%s: %llu reads", wrong, total);
	else
		verdict = passed(report,
				 "%u readers, %llu reads, least/most %llu%%; "
				 "%llu locks taken, %llu waits of %llu us; "
				 "%llu rounds of the harvester, %llu reseeds",
				 count, total, least * 100 / most,
				 after->all_reservations - before->all_reservations,
				 after->waits - before->waits,
				 (after->wait_ns - before->wait_ns) / 1000,
				 after->harvester.rounds - before->harvester.rounds,
				 after->harvester.reseeds -
					 before->harvester.reseeds);
	kfree(before);
	kfree(crowd.reads);
	return verdict;
}

static int readers_canonical(struct report *report)
{
	return run_readers(report, WS_CANONICAL);
}

static int readers_concurrent(struct report *report)
{
	return run_readers(report, WS_CONCURRENT);
}

static int readers_per_node(struct report *report)
{
	return run_readers(report, WS_PER_NODE);
}

static int readers_per_cpu(struct report *report)
{
	return run_readers(report, WS_PER_CPU);
}

const struct test readers_tests[] = {
	{ "readers/canonical", readers_canonical },
	{ "readers/concurrent", readers_concurrent },
	{ "readers/per-node", readers_per_node },
	{ "readers/per-cpu", readers_per_cpu },
	{}
};

/*
 * Finds 16-byte values that were handed out twice. Among a million random values of 128
 * bits, two are equal with probability 2^-89.
 */

int value_set_init(struct value_set *set, u32 capacity)
{
	set->values = vzalloc(array_size(capacity, 16));
	set->capacity = capacity;
	set->count = 0;
	return set->values ? 0 : -ENOMEM;
}

void value_set_exit(struct value_set *set)
{
	vfree(set->values);
}

bool value_set_add(struct value_set *set, const void *value)
{
	if (set->count == set->capacity)
		return false;
	memcpy(set->values[set->count++], value, 16);
	return true;
}

static int compare(const void *one, const void *other)
{
	return memcmp(one, other, 16);
}

long value_sets_repeats(struct value_set *sets, unsigned int count)
{
	static const u64 zeros[2];
	u64 (*all)[2];
	size_t total = 0, index;
	unsigned int one;
	long repeats = 0;

	for (one = 0; one < count; one++)
		total += sets[one].count;
	all = vmalloc(array_size(total + 1, 16));
	if (!all)
		return -ENOMEM;
	for (total = 0, one = 0; one < count; one++) {
		memcpy(all[total], sets[one].values,
		       (size_t)sets[one].count * 16);
		total += sets[one].count;
	}
	sort(all, total, 16, compare, NULL);
	for (index = 0; index < total; index++)
		repeats += !memcmp(all[index], zeros, 16) ||
			   (index && !compare(all[index - 1], all[index]));
	vfree(all);
	return repeats;
}

/*
 * From Empty over Early to Ready. Only where the module was loaded with
 * withhold_credit=1, so that all credit comes from the test.
 */

struct waiter {
	struct completion done;
	int error;
};

static int wait_in_thread(void *argument)
{
	struct waiter *waiter = argument;

	waiter->error = wellspring_wait_until_seeded();
	complete(&waiter->done);
	return 0;
}

/* The result of a read of the device that must not wait. */
static ssize_t read_device(void)
{
	struct file *file = filp_open("/dev/wellspring", O_RDONLY | O_NONBLOCK, 0);
	loff_t position = 0;
	u8 bytes[16];
	ssize_t ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = kernel_read(file, bytes, sizeof(bytes), &position);
	filp_close(file, NULL);
	return ret;
}

/* How every read must fail, or 0; NULL if all do. */
static const char *reads_are_wrong(int wanted, int wanted_early)
{
	u8 bytes[32];
	enum ws_mode mode;

	for (mode = 0; mode < WS_MODES; mode++)
		if (ws_read(mode, bytes, sizeof(bytes)) != wanted)
			return ws_mode_name(mode);
	if (wellspring_get_bytes(bytes, 0) != wanted)
		return "wellspring_get_bytes";
	if (wellspring_get_early_bytes(bytes, sizeof(bytes)) != wanted_early)
		return "wellspring_get_early_bytes";
	if (ws_nodes_save(0, bytes, sizeof(bytes)) != wanted)
		return "save";
	if (read_device() != (wanted ?: 16))
		return "/dev/wellspring";
	return NULL;
}

static u64 root_reseeds(void)
{
	struct ws_node_statistics root = {};

	ws_nodes_statistics(0, &root);
	return root.reseeds;
}

/*
 * Credit that comes in steps of 8 bits. Who reads early after each step could guess each:
 * so the first step makes one seed, and the others wait until they are 128 bits.
 */
static const char *small_steps(struct waiter *waiter)
{
	static const u8 seed[32] = "7 bits of a restore";
	const char *wrong;
	unsigned int step;
	u64 reseeds;

	ws_credit(8);
	if (ws_phase() != WS_EARLY)
		return "the phase with 8 bits";
	wrong = reads_are_wrong(-EAGAIN, 0);
	reseeds = root_reseeds();
	for (step = 1; step < 16; step++) {
		ws_credit(8);
		/* The harvester's rounds do not take them either. */
		ws_harvester_round();
		wrong = wrong ?: reads_are_wrong(-EAGAIN, 0);
	}
	if (!wrong && ws_phase() != WS_EARLY)
		wrong = "16 times 8 bits count as 128";
	ws_restore(0, seed, 7);
	ws_restore(ws_nodes_count() - 1, seed, 0);
	if (!wrong && root_reseeds() != reseeds)
		wrong = "a seed of less than 128 bits";
	if (!wrong && ws_phase() != WS_EARLY)
		wrong = "the phase with 127 bits after the early seed";
	if (!wrong && completion_done(&waiter->done))
		wrong = "a waiter with 127 bits";
	return wrong;
}

static int early_phases(struct report *report)
{
	struct waiter waiter;
	struct task_struct *task;
	const char *wrong;

	if (ws_phase() == WS_READY)
		return skipped(report, "load the module with withhold_credit=1");
	if (ws_phase() != WS_EMPTY)
		return failed(report, "the phase is Early without any credit");
	init_completion(&waiter.done);
	task = kthread_run(wait_in_thread, &waiter, "wellspring-test/wait");
	if (IS_ERR(task))
		return failed(report, "no thread");

	wrong = reads_are_wrong(-EAGAIN, -EAGAIN);
	ws_harvester_park(true);
	if (!wrong)
		wrong = small_steps(&waiter);
	ws_harvester_park(false);
	if ((ws_credit(1) || ws_phase() != WS_READY) && !wrong)
		wrong = "the phase with 128 bits after the early seed";
	/* Releases the waiter in any case. */
	ws_credit(256);
	if (!wrong)
		wrong = reads_are_wrong(0, 0);
	wait_for_completion(&waiter.done);
	if (wrong)
		return failed(report, "%s", wrong);
	if (waiter.error)
		return failed(report, "the waiter got error %d", waiter.error);
	return passed(report, "empty, early with 8 bits, ready with 128 in one seed");
}

const struct test early_tests[] = {
	{ "early/phases", early_phases },
	{}
};

/*
 * Reads between two marks, for an emulator that counts there (dev/rig/plugin/counts.c). It
 * judges nothing.
 *
 *	echo KIND BYTES READS READERS TURNS >/sys/module/wellspring_test/parameters/marked
 *
 * In each turn one CPU after the other, as many as there are readers, makes the reads. So
 * what one wrote is always in the cache of another when it is needed: the order does not
 * depend on the host. KIND is a mode; "kernel" for get_random_bytes(); "pseudo"; or
 * "nothing", for what the loop itself costs.
 */
#define MOST_BYTES 4096
#define MOST_TURNS 10000

typedef int (*read_function)(enum ws_mode mode, void *buf, size_t len);

struct marked {
	read_function read;
	enum ws_mode mode;
	unsigned int bytes;
	unsigned int reads;
};

static int read_kernel(enum ws_mode unused, void *buf, size_t len)
{
	get_random_bytes(buf, len);
	return 0;
}

static int read_pseudo(enum ws_mode unused, void *buf, size_t len)
{
	wellspring_get_pseudo_bytes(buf, len);
	return 0;
}

static noinline int read_nothing(enum ws_mode unused, void *buf, size_t len)
{
	barrier_data(buf);
	return 0;
}

/* Uses memory of the CPU, so that no reader writes to another's. */
static long read_marked(void *argument)
{
	const struct marked *marked = argument;
	void *memory = kmalloc(MOST_BYTES, GFP_KERNEL);
	unsigned int left = marked->reads;
	int error = 0;

	if (!memory)
		return -ENOMEM;
	asm volatile(WS_ARCH_BEGIN_MARK ::: "memory");
	while (left-- && !error)
		error = marked->read(marked->mode, memory, marked->bytes);
	asm volatile(WS_ARCH_END_MARK ::: "memory");
	kfree_sensitive(memory);
	return error;
}

static int find_kind(const char *kind, struct marked *marked)
{
	static const struct {
		const char *name;
		read_function read;
	} others[] = {
		{ "kernel", read_kernel },
		{ "pseudo", read_pseudo },
		{ "nothing", read_nothing },
	};
	unsigned int index;

	marked->read = ws_read;
	for (marked->mode = 0; marked->mode < WS_MODES; marked->mode++)
		if (!strcmp(kind, ws_mode_name(marked->mode)))
			return 0;
	for (index = 0; index < ARRAY_SIZE(others); index++) {
		marked->read = others[index].read;
		if (!strcmp(kind, others[index].name))
			return 0;
	}
	return -EINVAL;
}

static long take_turn(struct marked *marked, unsigned int readers)
{
	unsigned int count = 0;
	int cpu;

	for_each_online_cpu(cpu) {
		long error;

		if (count++ == readers)
			break;
		error = work_on_cpu(cpu, read_marked, marked);
		if (error)
			return error;
	}
	return 0;
}

static int run_marked(const char *text, const struct kernel_param *unused)
{
	unsigned int readers, turns;
	struct marked marked;
	char kind[16];
	long error = 0;

	if (sscanf(text, "%15s %u %u %u %u", kind, &marked.bytes, &marked.reads,
		   &readers, &turns) != 5)
		return -EINVAL;
	if (find_kind(kind, &marked) || marked.bytes > MOST_BYTES ||
	    turns > MOST_TURNS)
		return -EINVAL;
	cpus_read_lock();
	while (turns-- && !error)
		error = take_turn(&marked, readers);
	cpus_read_unlock();
	return error;
}

static const struct kernel_param_ops marked_operations = { .set = run_marked };
module_param_cb(marked, &marked_operations, NULL, 0200);
MODULE_PARM_DESC(marked, "makes marked reads (for tests)");
