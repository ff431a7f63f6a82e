// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The one place where the tracepoints of trace.h are made. Kbuild lets it find
 * trace.h again: CFLAGS_trace.o := -I$(src).
 */
#define CREATE_TRACE_POINTS
#include "trace.h"
