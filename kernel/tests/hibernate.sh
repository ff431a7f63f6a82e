#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# After a resume from disk the generation changes before any task runs again.
#
# usage: hibernate.sh can              whether this kernel can do it
#        hibernate.sh FOLDER DISK      where wellspring.ko is; the disk is overwritten
#
# The second switches the machine off. The rig sees its end when it resumes the machine.

. resume.sh
if [ "$1" = can ]; then
	grep -q disk /sys/power/state && [ -e /sys/power/resume ] &&
		can_trace_resume
	exit
fi
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
