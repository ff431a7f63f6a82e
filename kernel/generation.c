// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The order of a bump: first post the seeds, then bump. The order of a tap's fetch:
 * first read the generation, then draw a key from the node. So the key of a tap of
 * generation g was drawn after every seed that g announced. A bump in the middle of a
 * fetch leaves the tap with the older number, and its next read fetches again.
 */
#include "generation.h"
#include "testing.h"
#include "trace.h"

atomic64_t ws_generation_number = ATOMIC64_INIT(WS_NO_GENERATION + 1);
WS_EXPORT_FOR_TEST(ws_generation_number);

u64 ws_generation_bump(void)
{
	u64 next = atomic64_inc_return(&ws_generation_number);

	trace_wellspring_generation(next);
	return next;
}
WS_EXPORT_FOR_TEST(ws_generation_bump);
