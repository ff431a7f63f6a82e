// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What reads leave behind. For a moment probes record, in a form that is found nowhere
 * else, every key that makes output, every seed, the noise of the pools that the next
 * reseeds use, and what users wrote. After that all of them are used up. Output is recorded
 * as well, and its last reader wipes it. So none of it may be in memory, nor in the vector
 * registers of the CPUs, which idle after a last read. Memory is searched from outside: an
 * emulator writes all of it to a file, which has the records too, and shows the registers
 * (dev/rig/src/kernel_test/secrets.rs).
 */
#include <linux/cpu.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "machine-test.h"
#include "test.h"
#include "timers.h"
#include "workers.h"

#define RECORDS 4096
#define SECRET_BYTES 32
/* The last read on a CPU, and room for the last reads on all CPUs. */
#define LAST_BYTES 4096
#define LAST_RECORDS (8 * LAST_BYTES / SECRET_BYTES)
/* Each byte is kept with these bits changed, so that a record is not a finding. */
#define MASK 0x5a
#define PERIOD_NS 500000
#define TIME_MS 200
/* Pool 3, the last of these, is emptied by every 8th reseed; use_up() makes 128. */
#define POOLS_USED_UP 4

enum kind { KEY = 1, SEED, NOISE, WRITTEN, OUTPUT, LAST, KINDS };

/* One piece of memory, which the search knows by its first words. */
struct records {
	u8 title[32];
	__le32 count;
	__le32 unused[7];
	struct {
		__le32 kind;
		u8 masked[SECRET_BYTES];
	} all[RECORDS];
};

static struct records *records;
static atomic_t recorded;
static u32 hits[WS_CONTEXTS];
static u8 *planted;

/* In any context. A byte at a time, so that the compiler keeps no copy. */
static void record(enum kind kind, const u8 *secret)
{
	unsigned int most = kind == LAST ? RECORDS : RECORDS - LAST_RECORDS, byte;
	unsigned int number = atomic_fetch_add_unless(&recorded, 1, most);

	if (number >= most)
		return;
	records->all[number].kind = cpu_to_le32(kind);
	for (byte = 0; byte < SECRET_BYTES; byte++)
		WRITE_ONCE(records->all[number].masked[byte],
			   READ_ONCE(secret[byte]) ^ MASK);
}

static void record_all(enum kind kind, const u8 *buf, size_t len)
{
	for (; len >= SECRET_BYTES; len -= SECRET_BYTES, buf += SECRET_BYTES)
		record(kind, buf);
}

/*
 * ws_context() of the probed function. A probe by a breakpoint runs as an NMI, which counts
 * as a hard interrupt more. Probes by ftrace do not, which modules built by clang may lack.
 */
static enum ws_context probed_context(void)
{
	unsigned int hardirqs = preempt_count() & HARDIRQ_MASK;

	if (in_nmi())
		hardirqs -= HARDIRQ_OFFSET;
	if (hardirqs)
		return WS_HARDIRQ;
	return in_serving_softirq() ? WS_SOFTIRQ : WS_TASK;
}

/* ws_keystream_init(keystream, cipher, key, counter): every key there is. */
static int on_key(struct kprobe *probe, struct pt_regs *registers)
{
	record(KEY, (const u8 *)regs_get_kernel_argument(registers, 2));
	hits[probed_context()]++;
	return 0;
}

/* ws_generator_reseed(generator, seed, bytes): digests of pools, 32 bytes each. */
static int on_seed(struct kprobe *probe, struct pt_regs *registers)
{
	const u8 *seed = (const u8 *)regs_get_kernel_argument(registers, 1);

	record_all(SEED, seed, regs_get_kernel_argument(registers, 2));
	return 0;
}

/* ws_accumulator_absorb(accumulator, event, pool_number) */
static int on_noise(struct kprobe *probe, struct pt_regs *registers)
{
	const struct ws_event *event = (const struct ws_event *)
		regs_get_kernel_argument(registers, 1);
	unsigned int pool = regs_get_kernel_argument(registers, 2);

	if (pool % WS_POOLS < POOLS_USED_UP && event->bytes == SECRET_BYTES)
		record(NOISE, event->data);
	return 0;
}

/* ws_accumulator_mix(accumulator, data, bytes, credit_bits): hashes of what was written */
static int on_mixed(struct kprobe *probe, struct pt_regs *registers)
{
	if (regs_get_kernel_argument(registers, 2) == SECRET_BYTES)
		record(NOISE, (const u8 *)regs_get_kernel_argument(registers, 1));
	return 0;
}

static struct kprobe probes[] = {
	{ .symbol_name = "ws_keystream_init", .pre_handler = on_key },
	{ .symbol_name = "ws_generator_reseed", .pre_handler = on_seed },
	{ .symbol_name = "ws_accumulator_absorb", .pre_handler = on_noise },
	{ .symbol_name = "ws_accumulator_mix", .pre_handler = on_mixed },
};

static void read_here(int cpu, void *argument)
{
	u8 bytes[100];

	if (wellspring_get_bytes(bytes, sizeof(bytes)))
		WRITE_ONCE(*(int *)argument, -EIO);
	memzero_explicit(bytes, sizeof(bytes));
}

static bool all_contexts_read(void *unused)
{
	unsigned int context;

	for (context = 0; context < WS_CONTEXTS; context++)
		if (!READ_ONCE(hits[context]))
			return false;
	return true;
}

/* Reads in softirqs and hard interrupts of all CPUs. */
static int read_in_interrupts(void)
{
	int error = 0;
	struct timers softirqs = { .function = read_here, .argument = &error,
				   .softirq = true, .period_ns = PERIOD_NS };
	struct timers hardirqs = { .function = read_here, .argument = &error,
				   .period_ns = PERIOD_NS + 7000 };

	if (timers_start(&softirqs))
		return -ENOMEM;
	if (timers_start(&hardirqs)) {
		timers_stop(&softirqs);
		return -ENOMEM;
	}
	/* Each bump of a reseed has every tap fetch a new key. */
	if (ws_reseed() || !wait_until(all_contexts_read, NULL))
		error = -ETIMEDOUT;
	timers_stop(&hardirqs);
	timers_stop(&softirqs);
	return error;
}

static int read_device(u8 *buf, size_t len)
{
	struct file *file = filp_open("/dev/wellspring", O_RDONLY, 0);
	loff_t position = 0;
	ssize_t ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = kernel_read(file, buf, len, &position);
	filp_close(file, NULL);
	return ret == len ? 0 : -EIO;
}

/* The last blocks of a read would stay in registers and on the stack. */
static void record_end(const u8 *buf, size_t len)
{
	size_t start = len > 512 ? round_down(len - 512, 64) : 0;

	record_all(OUTPUT, buf + start, len - start);
}

/* All ways to read, write and reseed. @buf has room for 9000. */
static int use_everything(u8 *buf)
{
	static const size_t lengths[] = { 16, 33, 600, 5000, 9000 };
	unsigned int index, mode, number;
	int error = 0;

	for (index = 0; index < ARRAY_SIZE(lengths); index++) {
		for (mode = 0; mode < WS_MODES; mode++) {
			error = ws_read(mode, buf, lengths[index]) ?: error;
			record_end(buf, lengths[index]);
		}
		error = read_device(buf, lengths[index]) ?: error;
		record_end(buf, lengths[index]);
		get_random_bytes(buf, SECRET_BYTES);
		record(WRITTEN, buf);
		ws_mix(buf, SECRET_BYTES);
		memzero_explicit(buf, 9000);
		error = ws_credit(64) ?: error;
	}
	for (number = 0; number < ws_nodes_count(); number++)
		ws_nodes_save(number, buf, SECRET_BYTES);
	memzero_explicit(buf, 9000);
	return read_in_interrupts() ?: error;
}

/* Every key and seed of before is used up: all CPUs and nodes take new ones. */
static void use_up(void)
{
	u8 bytes[32];
	unsigned int round, number;

	for (round = 0; round < 2 * WS_MAX_NODES; round++) {
		ws_reseed();
		for (number = 0; number < ws_nodes_count(); number++)
			ws_nodes_save(number, bytes, sizeof(bytes));
	}
	memzero_explicit(bytes, sizeof(bytes));
}

static long read_last(void *buf)
{
	int error = wellspring_get_bytes(buf, LAST_BYTES);

	record_all(LAST, buf, LAST_BYTES);
	memzero_explicit(buf, LAST_BYTES);
	return error;
}

/* By a kernel thread on each CPU, which has nothing to do after that. */
static int read_last_everywhere(u8 *buf)
{
	int cpu, error = 0;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		error = work_on_cpu(cpu, read_last, buf) ?: error;
	cpus_read_unlock();
	return error;
}

static int secrets_record(struct report *report)
{
	static const char title[] = "records of wellspring all masked";
	struct kprobe *all[] = { &probes[0], &probes[1], &probes[2], &probes[3] };
	unsigned int index;
	u8 *buf;
	int error;

	if (records)
		return skipped(report, "recorded already");
	buf = kmalloc(9000, GFP_KERNEL);
	records = kzalloc(sizeof(*records), GFP_KERNEL);
	error = buf && records ? register_kprobes(all, ARRAY_SIZE(all)) :
				   -ENOMEM;
	if (error) {
		kfree(buf);
		kfree(records);
		records = NULL;
		return error == -ENOMEM ? failed(report, "no memory") :
			skipped(report, "no probes in this kernel: %d", error);
	}
	error = use_everything(buf);
	unregister_kprobes(all, ARRAY_SIZE(all));
	use_up();
	error = read_last_everywhere(buf) ?: error;
	kfree_sensitive(buf);
	index = min_t(unsigned int, atomic_read(&recorded), RECORDS);
	records->count = cpu_to_le32(index);
	for (index = 0; index < sizeof(records->title); index++)
		records->title[index] = title[index] ^ MASK;
	if (error)
		return failed(report, "error %d", error);
	return passed(report, "%u pieces of keys, seeds, events, writes and output; keys in tasks %u, softirqs %u, hard interrupts %u",
		      le32_to_cpu(records->count), hits[WS_TASK],
		      hits[WS_SOFTIRQ], hits[WS_HARDIRQ]);
}

/* A key in a register of a CPU that idles. This one returns to a task, which has its own. */
static void plant_register(void *bytes)
{
	struct ws_arch_simd arch;

	if (!ws_arch_simd_usable())
		return;
	ws_arch_simd_begin(&arch);
	ws_arch_register_plant(bytes);
	ws_arch_simd_end(&arch);
}

/* For the search to find: the first key as it was, in memory and in registers. */
static int secrets_plant(struct report *report)
{
	unsigned int byte;

	if (!records || !records->count)
		return skipped(report, "nothing was recorded");
	if (!planted)
		planted = kmalloc(SECRET_BYTES, GFP_KERNEL);
	if (!planted)
		return failed(report, "no memory");
	for (byte = 0; byte < SECRET_BYTES; byte++)
		planted[byte] = records->all[0].masked[byte] ^ MASK;
	on_each_cpu(plant_register, planted, true);
	return passed(report, "a key that was used up is in memory and in registers");
}

void secrets_exit(void)
{
	kfree_sensitive(planted);
	kfree_sensitive(records);
}

const struct test secrets_tests[] = {
	{ "secrets/record", secrets_record },
	{ "secrets/plant", secrets_plant },
	{}
};
