# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# For suspend.sh and hibernate.sh, which read this file: the trace of a resume.

tracing=/sys/kernel/tracing

can_trace_resume() {
	[ -d $tracing/events/power/suspend_resume ]
}

trace_resume() {
	echo 1 >$tracing/events/wellspring/wellspring_generation/enable
	echo 1 >$tracing/events/power/suspend_resume/enable
}

# Prints the verdict of the test $1: after a resume the generation changes before any task
# runs again, that is during the resume of the core: one CPU, not even the harvester.
judge_resume() {
	echo 0 >$tracing/events/enable
	awk '/suspend_resume: syscore_resume\[.*begin/ { core = 1 }
		core && /wellspring_generation:/ { bumped = 1 }
		/suspend_resume: syscore_resume\[.*end/ { exit }
		END { exit !bumped }' $tracing/trace && {
		echo "ok $1: a new generation before the first task"
		return
	}
	echo "FAILED $1: tasks ran with the old generation"
	tail -40 $tracing/trace
	return 1
}
