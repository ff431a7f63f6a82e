#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The tests that load the module by themselves, but for a resume (resume.sh). It is not loaded
# before and after. Runs in a small shell such as busybox, with the program kernel-test.
#
# usage: guest.sh FOLDER        where wellspring.ko and wellspring_test.ko are
#        guest.sh FOLDER nmi    the reads within NMIs alone

# Until 128 bits are credited a read of the device waits.
early() (
	state=/sys/kernel/debug/wellspring/state

	insmod "$1/wellspring.ko" withhold_credit=1 && insmod "$1/wellspring_test.ko" || exit 1
	head -c 32 /dev/wellspring >/tmp/early-bytes &
	reader=$!
	# Some rounds of the harvester, which find no credit.
	until [ "$(sed -n 's/^harvester_rounds //p' $state)" -ge 5 ]; do sleep 0.1; done
	status=0
	grep -q '^phase empty$' $state || { echo "FAILED early/device: $(grep phase $state)"; status=1; }
	[ ! -s /tmp/early-bytes ] || { echo "FAILED early/device: a read did not wait"; status=1; }
	kernel-test early || status=1
	# The test gave the credit.
	wait $reader
	[ "$(wc -c </tmp/early-bytes)" -eq 32 ] ||
		{ echo "FAILED early/device: a read came short"; status=1; }
	rm -f /tmp/early-bytes
	rmmod wellspring_test && rmmod wellspring || status=1
	[ $status -ne 0 ] || echo "ok early/device: a read waited for 128 bits"
	exit $status
)

# The tracepoints say what happened.
trace() (
	tracing=/sys/kernel/tracing
	insmod "$1/wellspring.ko" || exit 1
	if [ ! -d $tracing/events/wellspring ]; then
		rmmod wellspring
		echo "SKIPPED trace: this kernel has no tracing"
		exit 0
	fi
	reseeds() {
		sed -n 's/^reseeds //p' /sys/kernel/debug/wellspring/state
	}
	status=0
	echo 1 >$tracing/events/wellspring/enable
	before=$(reseeds)
	until [ "$(reseeds)" -gt "$before" ]; do sleep 0.1; done
	head -c 16 /dev/wellspring >/dev/null
	echo 0 >$tracing/events/wellspring/enable
	for line in 'wellspring_reseed: reseeds=[0-9]* pools=[0-9]*' \
		'wellspring_generation: generation=[0-9]*' \
		'wellspring_fetch: node=[0-9]* tap=task generation=[0-9]*'; do
		grep -q "$line" $tracing/trace || { echo "FAILED trace: no line '$line'"; status=1; }
	done
	rmmod wellspring || status=1
	[ $status -ne 0 ] || echo "ok trace: reseed, generation and fetch"
	exit $status
)

# A node for each last-level cache, which is the third where the kernel shows one. The rig knows how
# many nodes its machine has to get.
caches() (
	if ! insmod "$1/wellspring.ko" topology=llc 2>/dev/null; then
		[ "$(uname -m)" != x86_64 ] || { echo "FAILED caches: not loaded"; exit 1; }
		echo "ok caches: topology=llc is refused"
		exit 0
	fi
	insmod "$1/wellspring_test.ko" || exit 1
	status=0
	shown=$(cat /sys/devices/system/cpu/cpu*/cache/index3/shared_cpu_list 2>/dev/null |
		sort -u | wc -l)
	nodes=$(sed 1d /sys/kernel/debug/wellspring/nodes | wc -l)
	# Where each cache has a NUMA node, all tests come later, and find the same nodes.
	more=
	[ "$nodes" -eq "$(ls -d /sys/devices/system/node/node[0-9]* | wc -l)" ] ||
		more=hotplug/all-cpus-of-a-node
	kernel-test nodes distribution modes orders $more || status=1
	rmmod wellspring_test && rmmod wellspring || status=1
	[ $status -ne 0 ] || echo "ok caches: $nodes nodes for $shown caches"
	exit $status
)

# By default interrupts alone are hooked: task switches are for who asks.
hooks() (
	sources=/sys/kernel/debug/wellspring/sources
	# The hooks that are wanted, and how the module is loaded.
	check() {
		wanted=$1
		shift
		insmod "$@" || exit 1
		found=$(awk '$1 ~ /^(interrupt|scheduler)$/ && $2 != "absent" { printf "%s ", $1 }' $sources)
		rmmod wellspring || exit 1
		[ "$found" = "$wanted" ] || { echo "FAILED hooks: '$found' by insmod $*"; exit 1; }
	}
	check "interrupt " "$1/wellspring.ko"
	check "interrupt scheduler " "$1/wellspring.ko" timing=all
	check "" "$1/wellspring.ko" timing=off
	echo "ok hooks: interrupts by default"
)

# Programs write to the device as fast as they can. Without the hooks (timing=off) few
# events reach the pools, so that reseeds by writers would show.
flood() (
	insmod "$1/wellspring.ko" timing=off && insmod "$1/wellspring_test.ko" || exit 1
	chmod 0666 /dev/wellspring
	pids=
	for number in 1 2 3 4; do
		yes "what an attacker chose" >/dev/wellspring &
		pids="$pids $!"
	done
	status=0
	kernel-test writers || status=1
	kill $pids
	wait $pids 2>/dev/null
	rmmod wellspring_test && rmmod wellspring || status=1
	exit $status
)

# Reads within NMIs, which someone outside sends all the time.
nmi() (
	insmod "$1/wellspring.ko" && insmod "$1/wellspring_test.ko" expects_nmi=1 || exit 1
	status=0
	kernel-test nmi || status=1
	rmmod wellspring_test && rmmod wellspring || status=1
	exit $status
)

if [ "$2" = nmi ]; then
	nmi "$1"
	exit
fi
status=0
early "$1" || status=1
trace "$1" || status=1
caches "$1" || status=1
hooks "$1" || status=1
flood "$1" || status=1
load.sh "$1/wellspring.ko" 3 2 || status=1
exit $status
