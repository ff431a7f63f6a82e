// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The table of sources, and those that can be asked for a sample.
 *
 * Only the kernel's own pool is credited, and only once it says that it is initialised.
 * The others are mixed in without credit: they help against an attacker who knows the
 * state of the kernel's pool.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/string.h>

#include "arch-random.h"
#include "source.h"
#include "testing.h"

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
