#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# After a resume from disk the generation changes before any task runs again.
#
# usage: hibernate.sh can              whether this kernel can do it
#        hibernate.sh FOLDER DISK      where wellspring.ko is; the disk is overwritten
#
# The second switches the machine off. Its end is seen by who resumes it from the disk.

tracing=/sys/kernel/tracing
if [ "$1" = can ]; then
	grep -q disk /sys/power/state && [ -e /sys/power/resume ] &&
		[ -d $tracing/events/power/suspend_resume ]
	exit
fi
mkswap "$2" >/dev/null && swapon "$2" || exit 1
insmod "$1/wellspring.ko" || exit 1
echo 1 >$tracing/events/wellspring/wellspring_generation/enable
echo 1 >$tracing/events/power/suspend_resume/enable
echo shutdown >/sys/power/disk || exit 1
echo disk >/sys/power/state || { echo "FAILED hibernate: refused"; exit 1; }
echo 0 >$tracing/events/enable
# During the resume of the core: one CPU, no task, not even the collector.
awk '/suspend_resume: syscore_resume\[.*begin/ { core = 1 }
	core && /wellspring_generation:/ { bumped = 1 }
	/suspend_resume: syscore_resume\[.*end/ { exit }
	END { exit !bumped }' $tracing/trace
status=$?
[ $status -eq 0 ] && echo "ok hibernate: a new generation before the first task" ||
	{ echo "FAILED hibernate: tasks ran with the old generation"; tail -40 $tracing/trace; }
[ "$(head -c 4096 /dev/wellspring | wc -c)" -eq 4096 ] || status=1
rmmod wellspring && swapoff "$2" || status=1
exit $status
