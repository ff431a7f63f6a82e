#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Programs write to the device as fast as they can. Without the hooks (timing=off) few
# events reach the pools, so that reseeds by writers would show.
#
# usage: flood.sh FOLDER        where wellspring.ko and wellspring_test.ko are

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
