#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# After a resume, from memory or from disk, the generation changes before any task runs again.
#
# usage: resume.sh memory FOLDER      where wellspring.ko is
#        resume.sh can                whether this kernel can hibernate
#        resume.sh disk FOLDER DISK   where wellspring.ko is; the disk is overwritten
#
# Someone outside wakes the machine once it sleeps: an alarm of its own clock could come
# before a busy machine is asleep, and then it would never wake. The last switches the machine
# off. The rig sees its end when it resumes the machine.

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

resume_from_memory() {
	if ! grep -q mem /sys/power/state 2>/dev/null ||
		! grep -q '\[deep\]' /sys/power/mem_sleep 2>/dev/null ||
		! can_trace_resume; then
		echo "SKIPPED suspend: this machine cannot suspend, and trace that"
		exit 0
	fi
	# QEMU's processor model without AES once reset itself during a resume of Linux 6.1, and with
	# it the machine.
	if ! grep -qw aes /proc/cpuinfo; then
		echo "SKIPPED suspend: this emulated processor does not resume reliably"
		exit 0
	fi
	# Linux 6.1 once reset itself during a resume in QEMU with four nodes, too. The cause is not known.
	case $(uname -r) in
	6.1.*)
		echo "SKIPPED suspend: Linux 6.1 does not resume reliably in QEMU"
		exit 0
		;;
	esac
	# With KCSAN it resets itself without any module, too.
	if [ -e /sys/kernel/debug/kcsan ]; then
		echo "SKIPPED suspend: a kernel with KCSAN does not resume"
		exit 0
	fi
	insmod "$1/wellspring.ko" || exit 1
	trace_resume
	echo mem >/sys/power/state || { rmmod wellspring; echo "SKIPPED suspend: refused"; exit 0; }
	status=0
	judge_resume suspend || status=1
	rmmod wellspring || status=1
	exit $status
}

can_hibernate() {
	grep -q disk /sys/power/state && [ -e /sys/power/resume ] &&
		can_trace_resume
}

resume_from_disk() {
	mkswap "$2" >/dev/null && swapon "$2" || exit 1
	insmod "$1/wellspring.ko" || exit 1
	trace_resume
	echo shutdown >/sys/power/disk || exit 1
	echo disk >/sys/power/state || { echo "FAILED hibernate: refused"; exit 1; }
	status=0
	judge_resume hibernate || status=1
	[ "$(head -c 4096 /dev/wellspring | wc -c)" -eq 4096 ] || status=1
	rmmod wellspring && swapoff "$2" || status=1
	exit $status
}

case $1 in
memory) resume_from_memory "$2" ;;
can) can_hibernate ;;
disk) resume_from_disk "$2" "$3" ;;
*) exit 2 ;;
esac
