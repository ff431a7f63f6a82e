#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Loads and unloads the module under difficulties: each step of loading fails once, and
# readers go on while it is unloaded. Runs in a small shell such as busybox.
#
# usage: load.sh MODULE [ROUNDS] [READERS]
#
# Prints a line for each test, "ok ..." or "FAILED ...". The exit status is the number of
# failures. Look at dmesg too.

module=$1
rounds=${2:-100}
readers=${3:-4}
device=/dev/wellspring
failures=0

fail() {
	echo "FAILED $*"
	failures=$((failures + 1))
}

# A module that is read is busy: rmmod works only between two reads. On a busy emulated
# machine that may take long, so the limit is 5 minutes.
unload() {
	tries=0
	since=$(date +%s)
	until rmmod wellspring 2>/dev/null; do
		tries=$((tries + 1))
		[ $(($(date +%s) - since)) -lt 300 ] || return 1
	done
}

# Nothing may be left: no device, no directory, no module.
is_gone() {
	[ ! -e $device ] && [ ! -e /sys/kernel/debug/wellspring ] &&
		[ ! -e /sys/module/wellspring ]
}

steps=1
until insmod "$module" fail_step=$steps 2>/dev/null; do
	is_gone || fail "load/steps: step $steps failed and left something"
	steps=$((steps + 1))
	[ $steps -lt 1000 ] || break
done
unload || fail "load/steps: cannot be unloaded"
is_gone || fail "load/steps: unloading left something"
[ $steps -gt 10 ] || fail "load/steps: only $steps steps"
echo "ok load/steps: each of $((steps - 1)) steps failed once"

reader() {
	while :; do
		[ ! -c $device ] ||
			dd if=$device of=/dev/null bs=16384 count=1 2>/dev/null
		# Without a pause there would be no time between two reads.
		sleep 0.05
	done
}

pids=
for number in $(seq "$readers"); do
	reader &
	pids="$pids $!"
done
round=0
busy=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	insmod "$module" || { fail "load/unload: round $round: insmod"; break; }
	# Let the readers in, a little longer each time.
	sleep 0.0$((round % 10))
	unload || { fail "load/unload: round $round: stays busy"; break; }
	[ $tries -eq 0 ] || busy=$((busy + 1))
	is_gone || fail "load/unload: round $round left something"
done
kill $pids 2>/dev/null
wait 2>/dev/null

[ $failures -gt 0 ] ||
	echo "ok load/unload: $round rounds under $readers readers, busy in $busy"
exit $failures
