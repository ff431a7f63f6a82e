// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The sources that can be asked, and the row that each source has in the books. The
 * sources that come by themselves are in timing.c.
 *
 * Only the kernel's own pool is credited, once it says that it is initialised. The
 * rest is mixed in for nothing: against an attacker who knows all but that, it is
 * everything.
 */
#include <asm/archrandom.h>
#include <asm/cpufeature.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/string.h>

#include "internal.h"

/* One draw on the kernel's pool in the ordinary course: 2 events. */
#define SAMPLE_BYTES 64
/* And when seeding: 8 events. */
#define SEEDING_BYTES 256
/* Words in a row that an instruction must get right before its first sample. */
#define SELF_TEST_WORDS 8

struct row {
	const char *name;
	bool present;
	bool quarantined;
	unsigned int next_pool;
	u64 events;
	u64 credit_bits;
};

/* The pools' lock is held for all of this. */
static struct row rows[WS_SOURCES] = {
	[WS_SOURCE_SYSTEM] = { .name = "system", .present = true },
	[WS_SOURCE_CPU] = { .name = "cpu" },
	[WS_SOURCE_HWRNG] = { .name = "hwrng" },
	[WS_SOURCE_INTERRUPT] = { .name = "interrupt" },
	[WS_SOURCE_SCHEDULER] = { .name = "scheduler" },
	[WS_SOURCE_MIX] = { .name = "mix", .present = true },
	[WS_SOURCE_CLONE] = { .name = "clone", .present = true },
};
static struct ws_health system_health;
static unsigned long last_word;

unsigned int ws_source_book(enum ws_source source, u32 credit_bits)
{
	struct row *row = &rows[source];

	row->events++;
	row->credit_bits += credit_bits;
	/* As in random(4), what a clone brings is used in the next reseed. */
	return source == WS_SOURCE_CLONE ? 0 : row->next_pool++ % WS_POOLS;
}

static void quarantine(struct row *row)
{
	row->quarantined = true;
	pr_warn("wellspring: source %s failed its health test and is not used any more\n",
		row->name);
}

static void draw_system(size_t bytes)
{
	struct row *row = &rows[WS_SOURCE_SYSTEM];
	bool credited = rng_is_initialized();
	u8 sample[SEEDING_BYTES];
	size_t done;

	if (row->quarantined)
		return;
	get_random_bytes(sample, bytes);
	if (!ws_health_passes(&system_health, sample, bytes))
		quarantine(row);
	for (done = 0; done < bytes && !row->quarantined; done += WS_EVENT_BYTES)
		ws_harvest_absorb(WS_SOURCE_SYSTEM, sample + done, WS_EVENT_BYTES,
				  credited ? 8 * WS_EVENT_BYTES : 0);
	memzero_explicit(sample, sizeof(sample));
}

/*
 * RDSEED, or RDRAND where that has nothing. Some processors returned constants: all
 * ones after a resume, zeros reported as success. A word that is one of these or the
 * last one again ends the use of the instruction.
 */
static bool draw_word(unsigned long *word)
{
	struct row *row = &rows[WS_SOURCE_CPU];

	if (!arch_get_random_seed_longs(word, 1) &&
	    !arch_get_random_longs(word, 1))
		return false;
	if (*word == 0 || *word == ULONG_MAX || *word == last_word)
		quarantine(row);
	last_word = *word;
	return !row->quarantined;
}

static void draw_cpu(void)
{
	struct row *row = &rows[WS_SOURCE_CPU];
	unsigned long word;

	if (!row->present || row->quarantined || !draw_word(&word))
		return;
	ws_harvest_absorb(WS_SOURCE_CPU, &word, sizeof(word), 0);
	memzero_explicit(&word, sizeof(word));
}

void ws_sources_draw(unsigned int turn)
{
	if (turn % 2)
		draw_cpu();
	else
		draw_system(SAMPLE_BYTES);
}

void ws_sources_draw_all(void)
{
	draw_cpu();
	draw_system(SEEDING_BYTES);
}

void ws_source_statistics(enum ws_source source,
			  struct ws_source_statistics *statistics)
{
	const struct row *row = &rows[source];

	*statistics = (struct ws_source_statistics) {
		.name = row->name,
		.present = (row->present || ws_timing_is_hooked(source)) &&
			   !row->quarantined,
		.quarantined = row->quarantined,
		.events = READ_ONCE(row->events),
		.credit_bits = READ_ONCE(row->credit_bits),
	};
}
WS_EXPORT_FOR_TEST(ws_source_statistics);

static void test_cpu(void)
{
	unsigned int i;

	rows[WS_SOURCE_CPU].present = boot_cpu_has(X86_FEATURE_RDSEED) ||
				      boot_cpu_has(X86_FEATURE_RDRAND);
	for (i = 0; rows[WS_SOURCE_CPU].present && i < SELF_TEST_WORDS; i++) {
		unsigned long word;

		draw_word(&word);
	}
}

int ws_sources_init(void)
{
	ws_health_init(&system_health);
	test_cpu();
	return 0;
}
