#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The tracepoints say what happened.
#
# usage: trace.sh FOLDER        where wellspring.ko is

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
