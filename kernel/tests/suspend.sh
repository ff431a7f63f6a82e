#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# After a resume the generation changes before any task runs again.
#
# usage: suspend.sh FOLDER      where wellspring.ko is
#
# Someone outside wakes the machine once it sleeps: an alarm of its own clock could come
# before a busy machine is asleep, and then it would never wake.

. resume.sh
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
