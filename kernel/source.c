// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The table of sources, and those that can be asked for a sample.
 *
 * Only the kernel's own pool is credited, and only once it says that it is initialised.
 * The others are mixed in without credit: they help against an attacker who knows the
 * state of the kernel's pool.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <asm/archrandom.h>
#include <asm/cpufeature.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/string.h>

#include "health.h"
#include "pool.h"
#include "source.h"
#include "testing.h"

/* Words in a row that an instruction must get right before its first sample. */
#define SELF_TEST_WORDS 8

#ifdef WELLSPRING_TESTS
static bool withhold_credit;
module_param(withhold_credit, bool, 0600);
MODULE_PARM_DESC(withhold_credit, "for tests: no source earns credit");
#else
#define withhold_credit false
#endif

struct entry {
	const char *name;
	enum ws_source_health health;
	unsigned int next_pool;
	u64 events;
	u64 credit_bits;
};

/* The pools' lock is held for all of this. */
static struct entry entries[WS_SOURCES] = {
	[WS_SOURCE_SYSTEM] = { "system", WS_SOURCE_ACTIVE },
	[WS_SOURCE_CPU] = { "cpu", WS_SOURCE_ABSENT },
	[WS_SOURCE_HWRNG] = { "hwrng", WS_SOURCE_ABSENT },
	[WS_SOURCE_INTERRUPT] = { "interrupt", WS_SOURCE_ABSENT },
	[WS_SOURCE_SCHEDULER] = { "scheduler", WS_SOURCE_ABSENT },
	[WS_SOURCE_MIX] = { "mix", WS_SOURCE_ACTIVE },
};
static struct ws_health system_health;
static unsigned long last_word;

const char *ws_source_health_name(enum ws_source_health health)
{
	static const char *const names[] = {
		[WS_SOURCE_ABSENT] = "absent",
		[WS_SOURCE_ACTIVE] = "active",
		[WS_SOURCE_DISABLED] = "disabled",
	};

	return names[health];
}

unsigned int ws_source_count(enum ws_source source, u32 credit_bits)
{
	struct entry *entry = &entries[source];

	entry->events++;
	entry->credit_bits += credit_bits;
	/* The next reseed uses what was written: an operator may credit it. */
	if (source == WS_SOURCE_MIX)
		return 0;
	/* Each source has a round robin of its own. */
	return entry->next_pool++ % WS_POOLS;
}

void ws_source_set_present(enum ws_source source, bool present)
{
	entries[source].health = present ? WS_SOURCE_ACTIVE : WS_SOURCE_ABSENT;
}

static void disable_source(struct entry *entry)
{
	entry->health = WS_SOURCE_DISABLED;
	pr_warn("source %s failed its health test and is not used any more\n",
		entry->name);
}

static size_t draw_system(u8 *sample, size_t bytes, u32 *credit_bits_per_byte)
{
	struct entry *entry = &entries[WS_SOURCE_SYSTEM];

	*credit_bits_per_byte = rng_is_initialized() && !withhold_credit ? 8 : 0;
	get_random_bytes(sample, bytes);
	if (!ws_health_passes(&system_health, sample, bytes))
		disable_source(entry);
	return entry->health == WS_SOURCE_ACTIVE ? bytes : 0;
}

/*
 * A word of RDSEED, or of RDRAND if RDSEED has nothing. Some processors returned
 * constants: all ones after a resume, or zeros with success. A word of all zeros or all
 * ones, or the same word twice, ends the use of the instruction.
 */
static bool draw_word(unsigned long *word)
{
	struct entry *entry = &entries[WS_SOURCE_CPU];

	if (!arch_get_random_seed_longs(word, 1) &&
	    !arch_get_random_longs(word, 1))
		return false;
	if (*word == 0 || *word == ULONG_MAX || *word == last_word)
		disable_source(entry);
	last_word = *word;
	return entry->health == WS_SOURCE_ACTIVE;
}

static size_t draw_cpu(u8 *sample)
{
	unsigned long word;
	bool drawn = draw_word(&word);

	if (drawn)
		memcpy(sample, &word, sizeof(word));
	memzero_explicit(&word, sizeof(word));
	return drawn ? sizeof(word) : 0;
}

size_t ws_source_draw(enum ws_source source, u8 *sample, size_t bytes,
		      u32 *credit_bits_per_byte)
{
	*credit_bits_per_byte = 0;
	if (entries[source].health != WS_SOURCE_ACTIVE)
		return 0;
	switch (source) {
	case WS_SOURCE_SYSTEM:
		return draw_system(sample, bytes, credit_bits_per_byte);
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
		.health = READ_ONCE(entry->health),
		.events = READ_ONCE(entry->events),
		.credit_bits = READ_ONCE(entry->credit_bits),
	};
}
WS_EXPORT_FOR_TEST(ws_source_statistics);

int ws_sources_init(void)
{
	unsigned int i;

	ws_health_init(&system_health);
	if (boot_cpu_has(X86_FEATURE_RDSEED) || boot_cpu_has(X86_FEATURE_RDRAND))
		ws_source_set_present(WS_SOURCE_CPU, true);
	for (i = 0; entries[WS_SOURCE_CPU].health == WS_SOURCE_ACTIVE &&
		    i < SELF_TEST_WORDS; i++) {
		unsigned long word;

		draw_word(&word);
		memzero_explicit(&word, sizeof(word));
	}
	return 0;
}
