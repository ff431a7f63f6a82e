// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Secret numbers below a ceiling.
 */
#include "test.h"

#define DRAWS 30000

static int numbers_stay_below(struct report *report)
{
	static const u32 ceilings[] = { 1, 2, 3, 5, 1 << 16, (1U << 31) + 1, U32_MAX };
	unsigned int index, draw;
	u32 number;

	if (wellspring_get_u32_below(&number, 0) != -EINVAL)
		return failed(report, "a ceiling of 0 is no error");
	for (index = 0; index < ARRAY_SIZE(ceilings); index++) {
		u32 ceiling = ceilings[index], most = 0;

		for (draw = 0; draw < DRAWS; draw++) {
			if (wellspring_get_u32_below(&number, ceiling))
				return failed(report, "an error");
			if (number >= ceiling)
				return failed(report, "%u is not below %u", number, ceiling);
			most = max(most, number);
		}
		/*
		 * The greatest of this many draws is in the upper hundredth, but for 1 in
		 * 10^130 runs.
		 */
		if (most < ceiling - 1 - ceiling / 100)
			return failed(report, "%u of %u is the most", most, ceiling);
	}
	return passed(report, "%zu ceilings", ARRAY_SIZE(ceilings));
}

/*
 * Without throwing products away, half of the numbers below 3 * 2^30 would be multiples of 3:
 * of four words two give the same number. The standard deviation of the count is 82.
 */
static int numbers_are_unbiased(struct report *report)
{
	unsigned int draw, multiples = 0;
	u32 number;

	for (draw = 0; draw < DRAWS; draw++) {
		if (wellspring_get_u32_below(&number, 3U << 30))
			return failed(report, "an error");
		multiples += number % 3 == 0;
	}
	if (abs((int)multiples - DRAWS / 3) > 600)
		return failed(report, "%u of %u are multiples of 3", multiples, DRAWS);
	return passed(report, "%u of %u are multiples of 3", multiples, DRAWS);
}

const struct test numbers_tests[] = {
	{ "numbers/below", numbers_stay_below },
	{ "numbers/unbiased", numbers_are_unbiased },
	{}
};
