// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Makes the code of the tracepoints in trace.h. <trace/define_trace.h> includes trace.h
 * by its name, so Kbuild has CFLAGS_trace.o := -I$(src).
 */
#define CREATE_TRACE_POINTS
#include "trace.h"
