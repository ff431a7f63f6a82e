/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Tracepoints for what happens rarely. Reads are too frequent: debugfs counts them.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM wellspring

#if !defined(WELLSPRING_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define WELLSPRING_TRACE_H

#include <linux/tracepoint.h>

/* Reseed number @reseeds took the first @pools pools. */
TRACE_EVENT(wellspring_reseed,
	TP_PROTO(u64 reseeds, unsigned int pools),
	TP_ARGS(reseeds, pools),
	TP_STRUCT__entry(
		__field(u64, reseeds)
		__field(unsigned int, pools)
	),
	TP_fast_assign(
		__entry->reseeds = reseeds;
		__entry->pools = pools;
	),
	TP_printk("reseeds=%llu pools=%u", __entry->reseeds, __entry->pools)
);

/* The generation changed: every tap takes a fresh key before its next byte. */
TRACE_EVENT(wellspring_generation,
	TP_PROTO(u64 generation),
	TP_ARGS(generation),
	TP_STRUCT__entry(
		__field(u64, generation)
	),
	TP_fast_assign(
		__entry->generation = generation;
	),
	TP_printk("generation=%llu", __entry->generation)
);

/*
 * A tap of this CPU took a fresh key. @node: the NUMA node of this CPU. @context: enum
 * ws_context.
 */
TRACE_EVENT(wellspring_fetch,
	TP_PROTO(int node, unsigned int context, u64 generation),
	TP_ARGS(node, context, generation),
	TP_STRUCT__entry(
		__field(int, node)
		__field(unsigned int, context)
		__field(u64, generation)
	),
	TP_fast_assign(
		__entry->node = node;
		__entry->context = context;
		__entry->generation = generation;
	),
	TP_printk("node=%d tap=%s generation=%llu", __entry->node,
		  __print_symbolic(__entry->context, { 0, "task" },
				   { 1, "softirq" }, { 2, "hardirq" }),
		  __entry->generation)
);

/* The FPU was refused: the scalar backend made @bytes. */
TRACE_EVENT(wellspring_refusal,
	TP_PROTO(size_t bytes),
	TP_ARGS(bytes),
	TP_STRUCT__entry(
		__field(size_t, bytes)
	),
	TP_fast_assign(
		__entry->bytes = bytes;
	),
	TP_printk("bytes=%zu", __entry->bytes)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
