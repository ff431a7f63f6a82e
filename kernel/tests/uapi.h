/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/wellspring-test: the tests of the module by name, and for each open file a
 * private Fortuna, which a program drives with the lines of a vector file. Root only.
 */
#ifndef WELLSPRING_TEST_UAPI_H
#define WELLSPRING_TEST_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define WELLSPRING_TEST_NAME_BYTES 64
#define WELLSPRING_TEST_REPORT_BYTES 444

/* The name of test @index, from 0; ENXIO past the last. */
struct wellspring_test_name {
	__u32 index;
	char name[WELLSPRING_TEST_NAME_BYTES];
};
#define WELLSPRING_TEST_LIST	_IOWR('R', 0x70, struct wellspring_test_name)

enum wellspring_test_verdict {
	WELLSPRING_TEST_OK,
	WELLSPRING_TEST_FAILED,
	WELLSPRING_TEST_SKIPPED,
};

/*
 * Runs test @index, one at a time. @report is a line, with figures or the reason, or
 * empty.
 */
struct wellspring_test_run {
	__u32 index;
	__u32 verdict;
	char report[WELLSPRING_TEST_REPORT_BYTES];
};
#define WELLSPRING_TEST_RUN	_IOWR('R', 0x71, struct wellspring_test_run)

/* Backends, with the numbers of cipher.h. */
enum wellspring_replay_backend {
	WELLSPRING_REPLAY_SCALAR,
	WELLSPRING_REPLAY_SIMD128,
	WELLSPRING_REPLAY_SIMD256,
};

/*
 * A fresh private Fortuna: empty pools; with @forced, this key and counter (little
 * endian). @cipher: 0 for AES-256, 1 for ChaCha20. @backend: the fastest to use.
 * EOPNOTSUPP if this CPU, or this cipher, has no such backend.
 */
struct wellspring_replay_begin {
	__u32 cipher;
	__u32 concurrent;
	__u32 backend;
	__u32 forced;
	__u8 key[32];
	__u8 counter[16];
};
#define WELLSPRING_REPLAY_BEGIN	_IOW('R', 0x72, struct wellspring_replay_begin)

/* An event of @bytes data, at most 32, into @pool. */
struct wellspring_replay_event {
	__u32 counter;
	__u32 pool;
	__u32 bytes;
	__u8 data[32];
};
#define WELLSPRING_REPLAY_EVENT	_IOW('R', 0x73, struct wellspring_replay_event)

/* Reseeds if pool 0 holds 64 bytes, even within 100 ms of the last reseed. */
#define WELLSPRING_REPLAY_RESEED _IO('R', 0x74)

/* One read of @bytes, at most 1 GiB, to @destination. */
struct wellspring_replay_read {
	__u64 bytes;
	__u64 destination;
};
#define WELLSPRING_REPLAY_READ	_IOW('R', 0x75, struct wellspring_replay_read)

struct wellspring_replay_state {
	__u64 reseeds;
	__u64 first_pool_bytes;
	__u8 counter[16];
	__u8 key[32];
};
#define WELLSPRING_REPLAY_STATE	_IOR('R', 0x76, struct wellspring_replay_state)

/* What is measured. */
enum wellspring_test_measurement {
	/* 16 bytes for a task and for a softirq, each directly and through a worker. */
	WELLSPRING_TEST_TASK,
	WELLSPRING_TEST_TASK_WORKER,
	WELLSPRING_TEST_SOFTIRQ,
	WELLSPRING_TEST_SOFTIRQ_WORKER,
	/* Blocks of 4096 bytes, with two numbers each: secret ones, and pseudo numbers. */
	WELLSPRING_TEST_BLOCKS_SECRET,
	WELLSPRING_TEST_BLOCKS_PSEUDO,
	/* The same by get_random_u64(). */
	WELLSPRING_TEST_BLOCKS_KERNEL,
	/* AES-XTS by wellspring_crypto, directly and by a worker of cryptd; ENOENT without. */
	WELLSPRING_TEST_XTS_16,
	WELLSPRING_TEST_XTS_16_CRYPTD,
	WELLSPRING_TEST_XTS_4096,
	WELLSPRING_TEST_XTS_4096_CRYPTD,
};

/*
 * Measures @count requests or blocks, at most 2^20, and sets @count to the
 * number that were made. @ns: all of them. @numbers_ns: the numbers of as many
 * blocks alone. @switches: context switches of the task, the softirq or the
 * worker. EINTR after a fatal signal.
 */
struct wellspring_test_measure {
	__u32 measurement;
	__u32 count;
	__u64 ns;
	__u64 numbers_ns;
	__u64 switches;
	__u64 errors;
};
#define WELLSPRING_TEST_MEASURE	_IOWR('R', 0x77, struct wellspring_test_measure)

/* How a thread of the kernel reads. 0 to 3 are the modes, with the numbers of read.h. */
enum wellspring_test_way {
	WELLSPRING_TEST_WAY_KERNEL = 4,		/* get_random_bytes() */
	WELLSPRING_TEST_WAY_PSEUDO,
	WELLSPRING_TEST_WAY_U64,		/* wellspring_get_u64(), of 8 bytes */
	WELLSPRING_TEST_WAY_KERNEL_U64,		/* get_random_u64() */
};

/*
 * Has 1 to 64 threads, on the CPUs in turn, read 8 bytes to 1 MiB for @ms, at most 10000. @ns:
 * of all threads together, as are @reads. @turn_ns: for @turn_reads reads, of each thread its
 * median. @lock_wait_ns: for locks of nodes, of all readers. If @delays is not 0: how many softirqs
 * were raised by interrupts of the first reader's CPU, and the median, the 99th percentile and the
 * longest time until they ran.
 */
struct wellspring_test_speed {
	__u32 way;
	__u32 readers;
	__u32 bytes;
	__u32 ms;
	__u64 reads;
	__u64 ns;
	__u64 errors;
	__u64 locks;
	__u64 lock_wait_ns;
	__u64 harvester_ns;
	__u64 turn_ns;
	__u64 turn_reads;
	__u64 delay_ns[3];
	__u32 delays;
	__u32 unused;
};
#define WELLSPRING_TEST_SPEED	_IOWR('R', 0x78, struct wellspring_test_speed)

#endif
