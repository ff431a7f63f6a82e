#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Loads and unloads the module under difficulties: each step of loading fails once, while
# programs open whatever they can, and readers go on while it is unloaded. Runs in a small shell
# such as busybox.
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

gate=/sys/module/wellspring/parameters/fail_gate
tables=/sys/kernel/debug/wellspring
over=/tmp/load-over
closed=/tmp/load-closed

# Opens a file as soon as it is there, and keeps it open for a moment.
opener() {
	while [ ! -e $over ]; do
		if [ -e $closed ]; then sleep 0.1; else { sleep 0.2; } <"$1"; fi
	done 2>/dev/null
}

# Waits until the step that fails waits at its gate. False if the load ended before.
is_held() {
	until grep -q '^held' $gate 2>/dev/null; do
		[ -d /proc/$1 ] && [ "$(sed 's/.*) //; s/ .*//' /proc/$1/stat)" != Z ] ||
			return 1
		sleep 0.02
	done
}

# Linux frees a module whose load fails, also if a program has its device open. So nothing may
# be there to open when a step fails. The rng alone may fail later: the load then goes on.
rm -f $over $closed
opener $device &
openers=$!
opener $tables/state &
openers="$openers $!"
steps=0
without_rng=0
while [ $steps -lt 1000 ]; do
	insmod "$module" fail_step=$((steps + 1)) fail_gate=hold 2>/dev/null &
	loader=$!
	held=0
	seen=
	# busybox tries a second time, by another system call.
	while is_held $loader; do
		held=1
		[ ! -e $device ] || seen=$device
		[ ! -e $tables ] || seen=$tables
		echo go >$gate
	done
	if wait $loader; then
		touch $closed
		[ $held -eq 0 ] || grep -q wellspring-fortuna /proc/crypto || without_rng=1
		unload || fail "load/steps: cannot be unloaded"
		is_gone || fail "load/steps: unloading left something"
		rm -f $closed
		[ $held -eq 1 ] || break
	else
		[ $held -eq 1 ] || { fail "load/steps: a load fails without a step"; break; }
		[ -z "$seen" ] || fail "load/steps: $seen is there when step $((steps + 1)) fails"
		is_gone || fail "load/steps: step $((steps + 1)) failed and left something"
	fi
	steps=$((steps + 1))
done
touch $over
wait $openers
rm -f $over
[ $steps -gt 10 ] || fail "load/steps: only $steps steps"
[ ! -e /proc/crypto ] || [ $without_rng -eq 1 ] ||
	fail "load/steps: no load went on without the rng"
[ $failures -gt 0 ] || echo "ok load/steps: each of $steps steps failed once"

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
