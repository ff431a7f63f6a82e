#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Until 128 bits are credited a read of the device waits. Runs in a small shell such as
# busybox, with the program kernel-test.
#
# usage: early.sh FOLDER        where wellspring.ko and wellspring_test.ko are

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
