// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sources of noise: health tests, the table of sources, a queue of events for each CPU and
 * source, the hooks that push to them, and what users write.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/tracepoint.h>
#include <trace/events/irq.h>
#include <trace/events/sched.h>
#ifdef CONFIG_X86_LOCAL_APIC
#include <asm/trace/irq_vectors.h>
#endif

#include "internal.h"

/*
 * The tests of SP 800-90B 4.4 for samples of 8 bits with at least 1 bit of
 * min-entropy.
 *
 * They find a dead or stuck source, not a slightly weak one. The cutoffs are
 * for one false alarm in 2^40 samples, the rarest that the standard allows.
 */

/* 4.4.1: 1 + ceil(40 / 1) */
#define REPETITION_CUTOFF 41
/* 4.4.2: of 512 samples, 337 equal the first with a chance of at most 2^-40. */
#define WINDOW_SAMPLES 512
#define PROPORTION_CUTOFF 337

static bool sample_passes(struct ws_health *health, u8 sample)
{
	bool repeats = health->run && health->last == sample;

	health->run = repeats ? min(health->run, U32_MAX - 1) + 1 : 1;
	health->last = sample;

	if (health->position == 0) {
		health->first = sample;
		health->count = 0;
	}
	health->count += health->first == sample;
	health->position = (health->position + 1) % WINDOW_SAMPLES;

	return health->run < REPETITION_CUTOFF &&
	       health->count < PROPORTION_CUTOFF;
}

static void sample_failed(struct ws_health *health)
{
	if (health->passed >= WS_HEALTH_FORGET_SAMPLES)
		health->failures = 0;
	health->failures++;
	health->state = health->failures < WS_HEALTH_MAX_FAILURES ?
				WS_HEALTH_QUARANTINED : WS_HEALTH_DISABLED;
	/* Both tests start again. */
	health->passed = 0;
	health->run = 0;
	health->position = 0;
}

static void sample_passed(struct ws_health *health)
{
	health->passed = min(health->passed, U32_MAX - 1) + 1;
	if (health->state == WS_HEALTH_QUARANTINED &&
	    health->passed >= WS_HEALTH_RETURN_SAMPLES)
		health->state = WS_HEALTH_ACTIVE;
}

bool ws_health_judge(struct ws_health *health, const u8 *samples, size_t len)
{
	enum ws_health_state before = health->state;

	for (; len && health->state != WS_HEALTH_DISABLED; len--) {
		if (sample_passes(health, *samples++))
			sample_passed(health);
		else
			sample_failed(health);
	}
	/* The samples that end a quarantine are not used themselves. */
	return before == WS_HEALTH_ACTIVE && health->state == WS_HEALTH_ACTIVE;
}
WS_EXPORT_FOR_TEST(ws_health_judge);

const char *ws_health_state_name(enum ws_health_state state)
{
	static const char *const names[] = {
		[WS_HEALTH_ACTIVE] = "active",
		[WS_HEALTH_QUARANTINED] = "quarantined",
		[WS_HEALTH_DISABLED] = "disabled",
	};

	return names[state];
}

/*
 * The table of sources, and those that can be asked for a sample.
 *
 * Only the kernel's own pool is credited, and only once it says that it is initialised.
 * The others are mixed in without credit: they help against an attacker who knows the
 * state of the kernel's pool.
 */

/* Pairs of words that an instruction must get right before its first sample. */
#define SELF_TEST_DRAWS 4

#ifdef WELLSPRING_TESTS
static bool withhold_credit;
module_param(withhold_credit, bool, 0600);
MODULE_PARM_DESC(withhold_credit, "for tests: no source earns credit");
#else
#define withhold_credit false
#endif

struct entry {
	const char *name;
	bool present;
	struct ws_health health;
	unsigned int next_pool;
	u64 events;
	u64 credit_bits;
};

/* The pools' lock is held for all of this. */
static struct entry entries[WS_SOURCES] = {
	[WS_SOURCE_HWRNG] = { "hwrng" },
	[WS_SOURCE_INTERRUPT] = { "interrupt" },
	[WS_SOURCE_SCHEDULER] = { "scheduler" },
	[WS_SOURCE_SYSTEM] = { "system", true },
	[WS_SOURCE_CPU] = { "cpu" },
	[WS_SOURCE_MIX] = { "mix", true },
};

unsigned int ws_source_count(enum ws_source source, u32 credit_bits)
{
	struct entry *entry = &entries[source];

	/* Marked: ws_source_statistics() reads without the lock. */
	WRITE_ONCE(entry->events, entry->events + 1);
	WRITE_ONCE(entry->credit_bits, entry->credit_bits + credit_bits);
	return entry->next_pool++ % WS_POOLS;
}

void ws_source_set_present(enum ws_source source, bool present)
{
	WRITE_ONCE(entries[source].present, present);
}

static bool judge_samples(struct entry *entry, const u8 *samples, size_t len)
{
	enum ws_health_state before = entry->health.state;
	bool usable = ws_health_judge(&entry->health, samples, len);

	if (entry->health.state != before)
		pr_warn("source %s is %s\n", entry->name,
			ws_health_state_name(entry->health.state));
	return usable;
}

bool ws_source_judge(const struct ws_event *event)
{
	struct entry *entry = &entries[event->source];
	u8 sample = event->counter;

	switch (event->source) {
	case WS_SOURCE_INTERRUPT:
	case WS_SOURCE_SCHEDULER:
		/* The lowest bits of the cycle counter: here is the noise. */
		return judge_samples(entry, &sample, sizeof(sample));
	case WS_SOURCE_HWRNG:
		return judge_samples(entry, event->data, event->bytes);
	default:
		return true;
	}
}

/* Output of ChaCha20: no test could find anything in it. */
static size_t draw_system(u8 *sample, size_t len, u32 *credit_bits_per_byte)
{
	/* A test may change the parameter at any time. */
	bool is_credited = rng_is_initialized() && !data_race(withhold_credit);

	*credit_bits_per_byte = is_credited ? 8 : 0;
	get_random_bytes(sample, len);
	return len;
}

static void disable_cpu(void)
{
	entries[WS_SOURCE_CPU].health.state = WS_HEALTH_DISABLED;
	pr_warn("source cpu returned a constant and is disabled\n");
}

/*
 * Two words of RDSEED, or of RDRAND if RDSEED has nothing. Some processors returned
 * constants: all ones after a resume, or zeros with success. A word of all zeros or all
 * ones, or the same word twice, ends the use of the instruction.
 */
static bool draw_words(unsigned long words[2])
{
	unsigned int i;

	if (!ws_arch_seed_word(&words[0]) || !ws_arch_seed_word(&words[1]))
		return false;
	for (i = 0; i < 2; i++)
		if (words[i] == 0 || words[i] == ULONG_MAX)
			disable_cpu();
	if (words[0] == words[1])
		disable_cpu();
	return entries[WS_SOURCE_CPU].health.state == WS_HEALTH_ACTIVE;
}

static size_t draw_cpu(u8 *sample)
{
	unsigned long words[2] = { };
	bool drawn = draw_words(words);

	if (drawn)
		memcpy(sample, words, sizeof(words));
	memzero_explicit(words, sizeof(words));
	return drawn ? sizeof(words) : 0;
}

size_t ws_source_draw(enum ws_source source, u8 *sample, size_t len,
		      u32 *credit_bits_per_byte)
{
	*credit_bits_per_byte = 0;
	if (!READ_ONCE(entries[source].present) ||
	    entries[source].health.state != WS_HEALTH_ACTIVE)
		return 0;
	switch (source) {
	case WS_SOURCE_SYSTEM:
		return draw_system(sample, len, credit_bits_per_byte);
	case WS_SOURCE_CPU:
		return draw_cpu(sample);
	default:
		return 0;
	}
}

void ws_source_statistics(enum ws_source source,
			  struct ws_source_statistics *statistics)
{
	const struct entry *entry = &entries[source];

	*statistics = (struct ws_source_statistics) {
		.name = entry->name,
		.present = READ_ONCE(entry->present),
		/* What is a little old will do. */
		.health = data_race(entry->health.state),
		.events = READ_ONCE(entry->events),
		.credit_bits = READ_ONCE(entry->credit_bits),
	};
}
WS_EXPORT_FOR_TEST(ws_source_statistics);

int ws_sources_init(void)
{
	unsigned long words[2] = { };
	unsigned int i;

	entries[WS_SOURCE_CPU].present = ws_arch_seed_word(&words[0]);
	for (i = 0; entries[WS_SOURCE_CPU].present && i < SELF_TEST_DRAWS; i++)
		draw_words(words);
	memzero_explicit(words, sizeof(words));
	return 0;
}

/*
 * The queues of each CPU: its CPU alone pushes, the harvester alone pops, so there is no
 * lock. An interrupt that comes in the middle of a push, and pushes for the same source,
 * finds the queue busy.
 */

struct queue {
	bool busy;
	u32 pushed;
	u32 popped;
	u64 dropped;
	struct ws_event events[WS_QUEUE_EVENTS];
};

struct cpu_queues {
	struct queue of_source[WS_QUEUED_SOURCES];
};

static struct cpu_queues __percpu *queues;

void ws_event_init(struct ws_event *event, enum ws_source source,
		   const void *data, size_t len, u32 credit_bits)
{
	event->counter = (u32)random_get_entropy();
	event->source = source;
	event->bytes = min_t(size_t, len, WS_EVENT_BYTES);
	event->credit_bits = min_t(u32, credit_bits, 8 * event->bytes);
	memcpy(event->data, data, event->bytes);
}

/* Preemption is off, and nothing else on this CPU is pushing. */
static bool queue_push_alone(struct queue *queue, enum ws_source source,
			     const void *data, size_t len, u32 credit_bits)
{
	u32 pushed = queue->pushed;

	/*
	 * Pairs with ws_queue_drop_first(): the old event is wiped before a new one is written,
	 * queue-wrap.litmus.
	 */
	if (pushed - smp_load_acquire(&queue->popped) >= WS_QUEUE_EVENTS)
		return false;
	ws_event_init(&queue->events[pushed % WS_QUEUE_EVENTS], source, data,
		      len, credit_bits);
	/*
	 * Pairs with ws_queue_first(): the whole event is there before it is counted,
	 * queue-push.litmus.
	 */
	smp_store_release(&queue->pushed, pushed + 1);
	return true;
}

void ws_queue_push(enum ws_source source, const void *data, size_t len,
		   u32 credit_bits)
{
	struct queue *queue;
	bool done = false;

	preempt_disable_notrace();
	queue = &this_cpu_ptr(queues)->of_source[source];
	/* Marked: an interrupt may push too, and is done with it when it returns. */
	if (!READ_ONCE(queue->busy)) {
		WRITE_ONCE(queue->busy, true);
		barrier();
		done = queue_push_alone(queue, source, data, len, credit_bits);
		barrier();
		WRITE_ONCE(queue->busy, false);
	}
	if (!done)
		this_cpu_inc(queues->of_source[source].dropped);
	preempt_enable_notrace();
}
WS_EXPORT_FOR_TEST(ws_queue_push);

static struct queue *queue_of(int cpu, enum ws_source source)
{
	return &per_cpu_ptr(queues, cpu)->of_source[source];
}

const struct ws_event *ws_queue_first(int cpu, enum ws_source source)
{
	const struct queue *queue = queue_of(cpu, source);

	/* Pairs with queue_push_alone(): queue-push.litmus. */
	if (queue->popped == smp_load_acquire(&queue->pushed))
		return NULL;
	return &queue->events[queue->popped % WS_QUEUE_EVENTS];
}

void ws_queue_drop_first(int cpu, enum ws_source source)
{
	struct queue *queue = queue_of(cpu, source);

	memzero_explicit(&queue->events[queue->popped % WS_QUEUE_EVENTS],
			 sizeof(queue->events[0]));
	/* Pairs with queue_push_alone(): queue-wrap.litmus. */
	smp_store_release(&queue->popped, queue->popped + 1);
}

void ws_queue_statistics(int cpu, enum ws_source source,
			 struct ws_queue_statistics *statistics)
{
	const struct queue *queue = queue_of(cpu, source);

	statistics->events = READ_ONCE(queue->pushed);
	statistics->dropped = READ_ONCE(queue->dropped);
}
WS_EXPORT_FOR_TEST(ws_queue_statistics);

int ws_queues_init(void)
{
	queues = ws_step_fails() ? NULL : alloc_percpu(struct cpu_queues);
	return queues ? 0 : -ENOMEM;
}

void ws_queues_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memzero_explicit(per_cpu_ptr(queues, cpu),
				 sizeof(struct cpu_queues));
	free_percpu(queues);
}

/*
 * Sources that send samples by themselves: when interrupts come, and when tasks are switched.
 * Each hook pushes to a queue of its CPU: at most WS_QUEUE_EVENTS per source, CPU and round of
 * the harvester. A push to a full queue costs 4 loads. By default interrupts alone are hooked:
 * task switches are frequent, and none of these samples earns credit.
 *
 * The noise of a timing event is its cycle counter, low 32 bits. Its data says only
 * what happened.
 */

static void push_word(enum ws_source source, u32 word)
{
	ws_queue_push(source, &word, sizeof(word), 0);
}

static void on_interrupt(void *unused, int irq, struct irqaction *action)
{
	push_word(WS_SOURCE_INTERRUPT, irq);
}

/* The local timer has no irq handler, and without busy devices nothing else comes. */
static void on_timer(void *unused, int vector)
{
	push_word(WS_SOURCE_INTERRUPT, vector);
}

static void on_switch(void *unused, bool preempt, struct task_struct *previous,
		      struct task_struct *next, unsigned int previous_state)
{
	push_word(WS_SOURCE_SCHEDULER, next->pid);
}

static struct hook {
	const char *name;
	void *probe;
	enum ws_source source;
	struct tracepoint *tracepoint;
} hooks[] = {
	{ "irq_handler_entry", on_interrupt, WS_SOURCE_INTERRUPT },
	{ "local_timer_entry", on_timer, WS_SOURCE_INTERRUPT },
	{ "sched_switch", on_switch, WS_SOURCE_SCHEDULER },
};

/* The tracepoints take a pointer to void. A probe with another prototype does not compile. */
static void __maybe_unused check_prototypes(void)
{
	check_trace_callback_type_irq_handler_entry(on_interrupt);
	check_trace_callback_type_sched_switch(on_switch);
#ifdef CONFIG_X86_LOCAL_APIC
	check_trace_callback_type_local_timer_entry(on_timer);
#endif
}

static void find_tracepoint(struct tracepoint *tracepoint, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!strcmp(tracepoint->name, hooks[i].name))
			hooks[i].tracepoint = tracepoint;
}

enum timing { TIMING_OFF, TIMING_INTERRUPTS, TIMING_ALL };

static const char *const timing_names[] = {
	[TIMING_OFF] = "off",
	[TIMING_INTERRUPTS] = "interrupts",
	[TIMING_ALL] = "all",
};

static enum timing timing = TIMING_INTERRUPTS;

static int set_timing(const char *value, const struct kernel_param *parameter)
{
	int ret = sysfs_match_string(timing_names, value);

	if (ret < 0)
		return ret;
	timing = ret;
	return 0;
}

static int get_timing(char *buf, const struct kernel_param *parameter)
{
	return sysfs_emit(buf, "%s\n", timing_names[timing]);
}

static const struct kernel_param_ops timing_ops = {
	.set = set_timing,
	.get = get_timing,
};
module_param_cb(timing, &timing_ops, NULL, 0444);
MODULE_PARM_DESC(timing,
		 "interrupts (default) are a source; all: task switches too; off: no hook is placed, for isolated CPUs");

static void place_hook(struct hook *hook)
{
	if (hook->source == WS_SOURCE_SCHEDULER && timing != TIMING_ALL)
		hook->tracepoint = NULL;
	if (hook->tracepoint &&
	    tracepoint_probe_register(hook->tracepoint, hook->probe, NULL))
		hook->tracepoint = NULL;
	if (hook->tracepoint)
		ws_source_set_present(hook->source, true);
}

/* A hook that cannot be placed means an absent source. It is not an error. */
int ws_timing_init(void)
{
	unsigned int i;

	if (timing == TIMING_OFF)
		return 0;
	for_each_kernel_tracepoint(find_tracepoint, NULL);
	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		place_hook(&hooks[i]);
	return 0;
}

void ws_timing_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].tracepoint)
			tracepoint_probe_unregister(hooks[i].tracepoint,
						    hooks[i].probe, NULL);
	tracepoint_synchronize_unregister();
}

/*
 * The source hwrng, which is off unless the parameter says on.
 *
 * hwrng offers no function to other modules. What it feeds to the kernel's own
 * pool goes through add_hwgenerator_randomness(), and a probe there sees it. A
 * probe is no interface, it costs a trap or a jump in the kernel's own code,
 * and the source system has these bytes already, hashed. So it is for users who
 * do not trust the kernel's pool with them.
 */

static bool hwrng;
module_param(hwrng, bool, 0444);
MODULE_PARM_DESC(hwrng, "hwrng is a source, by a kprobe; off (default): it reaches the kernel's own pool alone");

/* add_hwgenerator_randomness(buf, len, entropy, sleep_after) */
static int on_hwrng(struct kprobe *probe, struct pt_regs *regs)
{
	const void *buf = (const void *)regs_get_kernel_argument(regs, 0);
	size_t len = regs_get_kernel_argument(regs, 1);

	ws_queue_push(WS_SOURCE_HWRNG, buf, min_t(size_t, len, WS_EVENT_BYTES), 0);
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "add_hwgenerator_randomness",
	.pre_handler = on_hwrng,
};

static bool is_hooked;

/* A hook that cannot be placed means an absent source. It is not an error. */
int ws_hwrng_init(void)
{
	is_hooked = hwrng && !register_kprobe(&probe);
	ws_source_set_present(WS_SOURCE_HWRNG, is_hooked);
	return 0;
}

void ws_hwrng_exit(void)
{
	if (is_hooked)
		unregister_kprobe(&probe);
}

/*
 * Data that users and other modules write, on its way to the pools.
 *
 * Anyone may write as much and as fast as they like. So a writer never touches the
 * pools: it hashes its data into a state of its CPU. Once in a round the harvester
 * takes the hash of each CPU, 32 bytes, or leaves it for the next round if a writer
 * holds the lock. Nothing is lost, no sample of a source is displaced, and a flood costs
 * the harvester no more than 32 bytes per CPU and round. They make no reseed due. The
 * lock is held for STEP_BYTES, and only writers on the same CPU want it.
 */

/* The most data that is hashed in one hold of the lock, with softirqs off. */
#define STEP_BYTES 512

struct mixer {
	spinlock_t lock;	/* for what follows; filled is read without it */
	bool filled;
	struct sha256_ctx hash;
};

static struct mixer __percpu *mixers;

static void mix_step(const void *data, size_t len)
{
	/* The task may move to another CPU here. The lock makes that safe. */
	struct mixer *mixer = raw_cpu_ptr(mixers);
	struct ws_simd simd;

	spin_lock_bh(&mixer->lock);
	ws_simd_guard(&simd);
	sha256_update(&mixer->hash, data, len);
	ws_simd_unguard(&simd);
	WRITE_ONCE(mixer->filled, true);
	spin_unlock_bh(&mixer->lock);
}

void ws_mix(const void *data, size_t len)
{
	while (len) {
		size_t step = min_t(size_t, len, STEP_BYTES);

		mix_step(data, step);
		data += step;
		len -= step;
	}
}
WS_EXPORT_FOR_TEST(ws_mix);

bool ws_mix_take(int cpu, bool may_wait, u8 digest[SHA256_DIGEST_SIZE])
{
	struct mixer *mixer = per_cpu_ptr(mixers, cpu);
	struct ws_simd simd;
	bool taken;

	/* No lock of a CPU without writers. Marked: a writer may come now. */
	if (!READ_ONCE(mixer->filled))
		return false;
	if (may_wait)
		spin_lock_bh(&mixer->lock);
	else if (!spin_trylock_bh(&mixer->lock))
		return false;
	taken = mixer->filled;
	if (taken) {
		ws_simd_guard(&simd);
		sha256_final(&mixer->hash, digest);
		ws_simd_unguard(&simd);
		sha256_init(&mixer->hash);
		WRITE_ONCE(mixer->filled, false);
	}
	spin_unlock_bh(&mixer->lock);
	return taken;
}

int ws_mix_init(void)
{
	int cpu;

	mixers = ws_step_fails() ? NULL : alloc_percpu(struct mixer);
	if (!mixers)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct mixer *mixer = per_cpu_ptr(mixers, cpu);

		spin_lock_init(&mixer->lock);
		sha256_init(&mixer->hash);
	}
	return 0;
}

void ws_mix_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memzero_explicit(per_cpu_ptr(mixers, cpu), sizeof(struct mixer));
	free_percpu(mixers);
}
