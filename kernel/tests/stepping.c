// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * tap.o as a real kernel has it, in a program: what stepping.sh builds. The register GS points to a
 * false per-CPU area, calls of __fentry__ become NOPs and jumps to the return thunk RETs, as the
 * kernel does when it boots.
 *
 * An interrupt after every instruction: the trap flag steps a read, and after its nth instruction
 * the handler reads too, with the preemption count of a softirq, a hard interrupt or an NMI. Both
 * must get the numbers that are theirs. Two controls must fail: pseudo numbers by a load and a
 * store, and taps that are never busy.
 *
 * usage: stepping           the test; exit status 0 if all is as it must be
 *        stepping times     ns of numbers and reads, and a loop that writes blocks, as in measure.c
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Linked to low addresses: the area has each variable at its own address. */
#define PERCPU __attribute__((section(".data..percpu"), used))
#define AREA_BYTES (64 << 20)

/* What tap.o wants of the kernel. */
PERCPU int __preempt_count, cpu_number, numa_node;
PERCPU unsigned long this_cpu_off;
/* Linux 6.2 to 6.14. */
PERCPU struct {
	void *task;
	int preempt_count, cpu_number;
	char rest[48];
} pcpu_hot;
unsigned char boot_cpu_data[4096];
unsigned int nr_cpu_ids = 1;
unsigned long __cpu_possible_mask[128] = { 1 }, __cpu_online_mask[128] = { 1 };
unsigned long __per_cpu_offset[8192];
unsigned char __tracepoint_wellspring_fetch[256];
int64_t ws_generation_number = 1;
unsigned int ws_cipher;
static unsigned char *area;
/* The last that was allocated: first the tap of tasks, with its generation and then its mark. */
static unsigned char *taps;
#define BUSY_MARK 8

unsigned long _find_next_bit(const unsigned long *map, unsigned long size, unsigned long from)
{
	return from < 1 ? 0 : size;
}

void get_random_bytes(void *buf, size_t len)
{
	if (getrandom(buf, len, 0) != (ssize_t)len)
		abort();
}

void *__alloc_percpu(size_t size, size_t align)
{
	unsigned char *memory = aligned_alloc(64, (size + 63) & ~63ul);

	memset(memory, 0, size);
	taps = memory;
	return memory - (uintptr_t)area;
}

/* Linux 6.10. */
void *pcpu_alloc_noprof(size_t size, size_t align)
{
	return __alloc_percpu(size, align);
}

int ws_phase(void)
{
	return 2;
}

/* Output of a cipher: words that never come twice. */
static uint64_t next_word = 1;

static void make_words(unsigned char *buf, size_t len)
{
	for (; len >= 8; len -= 8, buf += 8, next_word++)
		memcpy(buf, &next_word, 8);
}

void ws_keystream_fill(void *keystream, unsigned char *buf, size_t len)
{
	make_words(buf, len);
}

void ws_reservation_generate(void *reservation, unsigned char *buf, size_t len)
{
	make_words(buf, len);
}

void wellspring_get_pseudo_bytes(void *, size_t);
int wellspring_get_bytes(void *, size_t);
uint64_t inline_u64(void), plain_u64(void);
void inline_u64s(unsigned int);
void inline_blocks(unsigned char *, unsigned int), ready_blocks(unsigned char *, unsigned int, const uint64_t *);
int ws_pseudo_init(void);
int ws_taps_init(void);

extern uint64_t __start_mcount_loc[], __stop_mcount_loc[];
extern unsigned char etext[];
void __x86_return_thunk(void);

static void write_code(void *to, const void *code, size_t len)
{
	if (mprotect((void *)((uintptr_t)to & ~4095ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		abort();
	memcpy(to, code, len);
}

static void patch(void)
{
	unsigned char *code, *low = etext, *high = NULL;
	uint64_t *place;

	for (place = __start_mcount_loc; place < __stop_mcount_loc; place++) {
		code = (unsigned char *)*place;
		low = code < low ? code : low;
		high = code > high ? code : high;
		write_code(code, "\x0f\x1f\x44\x00\x00", 5);
	}
	high = high + 4096 < etext ? high + 4096 : etext;
	for (code = low; code + 5 <= high; code++) {
		int32_t distance;

		memcpy(&distance, code + 1, 4);
		if (*code == 0xe9 && code + 5 + distance == (unsigned char *)__x86_return_thunk)
			write_code(code, "\xc3\xcc\xcc\xcc\xcc", 5);
	}
}

/* A read of either kind; words of 8 bytes alone. */
static bool is_pseudo;
/* The control: an interrupt may come between the load of a sum and its store. */
static bool is_plain;

static void read_words(uint64_t *words, unsigned int count)
{
	if (!is_pseudo && wellspring_get_bytes(words, 8 * count))
		abort();
	if (is_plain)
		while (count--)
			words[count] = plain_u64();
	else if (is_pseudo && count == 1)
		*words = inline_u64();
	else if (is_pseudo)
		wellspring_get_pseudo_bytes(words, 8 * count);
}

static void add_to_count(int context)
{
	*(int *)(area + (uintptr_t)&__preempt_count) += context;
	*(int *)(area + (uintptr_t)&pcpu_hot.preempt_count) += context;
}

#define MOST_OUTER 9
#define MOST_WORDS (MOST_OUTER + 2)

struct interrupt {
	int context;			/* what the preemption count grows by */
	unsigned int words;
	long at, steps, calls;
	uint64_t got[MOST_WORDS];
};

static struct interrupt interrupt;
/* The control: no tap is ever marked as busy. */
static bool hides_taps;

static void on_trap(int signal)
{
	unsigned char was_busy = 0;

	if (interrupt.steps++ != interrupt.at)
		return;
	if (hides_taps) {
		was_busy = taps[BUSY_MARK];
		taps[BUSY_MARK] = 0;
	}
	add_to_count(interrupt.context);
	read_words(interrupt.got, interrupt.words);
	add_to_count(-interrupt.context);
	interrupt.calls++;
	if (hides_taps)
		taps[BUSY_MARK] = was_busy;
}

static void read_stepped(uint64_t *words, unsigned int count)
{
	asm volatile("pushfq; orl $0x100, (%%rsp); popfq" : : : "memory", "cc");
	read_words(words, count);
	asm volatile("pushfq; andl $~0x100, (%%rsp); popfq" : : : "memory", "cc");
}

/* Of all reads so far, whether words came twice. */
static bool came_before(const uint64_t *words, unsigned int count)
{
	static uint64_t seen[1 << 21];
	static unsigned long known;
	unsigned int i;
	bool twice = false;

	for (i = 0; i < count; i++) {
		unsigned long slot = words[i] * 0x9e3779b97f4a7c15 >> 43;

		while (seen[slot] && seen[slot] != words[i])
			slot = (slot + 1) & ((1 << 21) - 1);
		twice |= !words[i] || seen[slot] == words[i];
		seen[slot] = words[i];
		if (++known > 1 << 20)
			abort();
	}
	return twice;
}

/* Interrupts each instruction of reads of 1 to 9 words by reads of 1 and 2. Returns how many were wrong. */
static long interrupt_all(const char *name, int context)
{
	uint64_t words[MOST_WORDS];
	unsigned int outer, inner;
	long cases = 0, wrong = 0;

	for (outer = 1; outer <= MOST_OUTER; outer++)
		for (inner = 1; inner <= 2; inner++)
			for (long at = 0;; at++) {
				interrupt = (struct interrupt) { .context = context, .words = inner, .at = at };
				read_stepped(words, outer);
				if (!interrupt.calls)
					break;
				cases++;
				memcpy(words + outer, interrupt.got, 8 * inner);
				wrong += came_before(words, outer + inner);
			}
	printf("%s: %ld interrupts, one after each instruction, %ld wrong\n", name, cases, wrong);
	return wrong;
}

static bool test(void)
{
	struct sigaction action = { .sa_handler = on_trap };
	bool is_right = true;

	sigaction(SIGTRAP, &action, NULL);
	is_pseudo = true;
	is_right &= !interrupt_all("pseudo words, any context", 0x110000);
	is_plain = true;
	is_right &= !!interrupt_all("control, which must be wrong: pseudo words, by a load and a store", 0x110000);
	is_plain = is_pseudo = false;
	is_right &= !interrupt_all("secret words, softirqs", 0x100);
	is_right &= !interrupt_all("secret words, hard interrupts", 0x10000);
	is_right &= !interrupt_all("secret words, a read in the same context", 0);
	hides_taps = true;
	is_right &= !!interrupt_all("control, which must be wrong: secret words, the same, and no tap is busy", 0);
	return is_right;
}

#define TURNS 1001
#define EACH 1000

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

enum way { INLINE, PSEUDO, SECRET };

/* A tap has 992 bytes for each refill, which is a copy here: reads of 8 and 16 bytes are of what it has. */
static double time_reads(enum way way, size_t len)
{
	static unsigned char buf[65536];
	static double ns[TURNS];
	unsigned int each = len > 1024 ? 20 : EACH;

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		double since = now_ns();

		if (way == INLINE)
			inline_u64s(each);
		for (unsigned int i = 0; way >= PSEUDO && i < each; i++) {
			if (way == PSEUDO)
				wellspring_get_pseudo_bytes(buf, len);
			else if (wellspring_get_bytes(buf, len))
				abort();
		}
		ns[turn] = (now_ns() - since) / each;
	}
	qsort(ns, TURNS, sizeof(*ns), compare);
	return ns[TURNS / 2];
}

/* Blocks with two numbers each, which are made for it, and which were made before: in turns. */
static void time_blocks(double *with_numbers, double *ready)
{
	static unsigned char memory[1024 * 4096];
	static double ns[2][TURNS];
	static uint64_t numbers[2 * EACH];

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		double since;

		wellspring_get_pseudo_bytes(numbers, sizeof(numbers));
		since = now_ns();
		inline_blocks(memory, EACH);
		ns[0][turn] = (now_ns() - since) / EACH;
		since = now_ns();
		ready_blocks(memory, EACH, numbers);
		ns[1][turn] = (now_ns() - since) / EACH;
	}
	for (int which = 0; which < 2; which++)
		qsort(ns[which], TURNS, sizeof(**ns), compare);
	*with_numbers = ns[0][TURNS / 2];
	*ready = ns[1][TURNS / 2];
}

static void print_times(void)
{
	static const size_t lens[] = { 8, 16, 32, 256, 4096, 65536 };
	double number = time_reads(INLINE, 8), block, ready;

	time_blocks(&block, &ready);
	printf("wellspring_get_pseudo_u64, inlined: %.2f ns\n", number);
	printf("a block of 4096 bytes with two of them: %.1f ns, the numbers alone take %.1f %%\n", block,
	       200 * number / block);
	printf("the same with numbers made before: %.1f ns, a difference of %.1f %%\n", ready,
	       100 * (block - ready) / block);
	for (unsigned int i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		printf("wellspring_get_pseudo_bytes, %zu bytes: %.1f ns\n", lens[i], time_reads(PSEUDO, lens[i]));
	for (unsigned int i = 0; i < 3; i++)
		printf("wellspring_get_bytes, %zu bytes, without the cipher: %.1f ns\n", lens[i],
		       time_reads(SECRET, lens[i]));
}

int main(int count, char **arguments)
{
	area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED || syscall(SYS_arch_prctl, ARCH_SET_GS, area))
		return 2;
	memset(boot_cpu_data, 0xff, sizeof(boot_cpu_data));
	for (unsigned int cpu = 0; cpu < 8192; cpu++)
		__per_cpu_offset[cpu] = (unsigned long)area;
	*(unsigned long *)(area + (uintptr_t)&this_cpu_off) = (unsigned long)area;
	patch();
	if (ws_pseudo_init() || ws_taps_init())
		return 2;
	if (count > 1) {
		print_times();
		return 0;
	}
	return !test();
}
