#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Each allocation of a load of the module, of a read and of a write fails once, and so does
# each allocation of the kernel's functions that they call. The module is not loaded before
# and after.
#
# usage: failslab.sh FOLDER      where wellspring.ko is
#
# Needs a kernel with CONFIG_FAILSLAB and CONFIG_FAIL_PAGE_ALLOC. Run kmemleak after it, and
# look at dmesg.

failslab=/sys/kernel/debug/failslab
fail_pages=/sys/kernel/debug/fail_page_alloc
fail_nth=/proc/self/fail-nth
device=/dev/wellspring
if [ ! -d $failslab ] || [ ! -d $fail_pages ] || [ ! -e $fail_nth ]; then
	echo "SKIPPED failslab: this kernel cannot have allocations fail"
	exit 0
fi
failures=0

fail() {
	echo "FAILED failslab/$*"
	failures=$((failures + 1))
}

# Allocations that may wait fail too, and single pages. Each failure takes 1 from `times`.
for attribute in $failslab $fail_pages; do
	echo N >$attribute/ignore-gfp-wait
	echo 0 >$attribute/verbose
	echo 1000000 >$attribute/times
done

# While pages do not fail, they do not count either.
pages() {
	echo "$1" >$fail_pages/min-order
}

left() {
	echo $(($(cat $failslab/times) + $(cat $fail_pages/times)))
}

# Runs a command whose allocation number $1 fails. The first ones belong to the start of
# the program.
with_failure() {
	number=$1
	shift
	(echo "$number" >$fail_nth && exec "$@") 2>/dev/null
}

# Whether the last command had this many failures. Call expect_failure before it.
expect_failure() {
	before=$(left)
}

has_failed() {
	[ "$(left)" -lt "$before" ]
}

unload() {
	since=$(date +%s)
	until rmmod wellspring; do
		[ $(($(date +%s) - since)) -lt 300 ] || return 1
	done
}

is_gone() {
	[ ! -e $device ] && [ ! -e /sys/kernel/debug/wellspring ] &&
		[ ! -e /sys/module/wellspring ]
}

# The insmod of busybox tries twice. The first try takes no compressed module, so that the
# second is the only one.
gzip -c "$1/wellspring.ko" >/tmp/wellspring.ko.gz

pages 20
number=0
refused=0
while :; do
	number=$((number + 1))
	expect_failure
	if with_failure $number insmod /tmp/wellspring.ko.gz; then
		has_failed || break
		[ "$(head -c 4096 $device | wc -c)" -eq 4096 ] ||
			fail "load: allocation $number failed, and reads do too"
		unload || fail "load: allocation $number failed, and it stays loaded"
	else
		has_failed || fail "load: refused without a failure"
		refused=$((refused + 1))
	fi
	is_gone || fail "load: allocation $number failed and left something"
	[ $failures -eq 0 ] || exit 1
done
echo "ok failslab/load: each of $((number - 1)) allocations failed once, $refused refused it"

pages 0
number=0
short=0
while :; do
	number=$((number + 1))
	expect_failure
	bytes=$(with_failure $number dd if=$device bs=20000 count=1 | wc -c)
	has_failed || break
	[ "$bytes" -eq 20000 ] || short=$((short + 1))
done
[ "$bytes" -eq 20000 ] || fail "read: $bytes bytes without a failure"
echo "failslab/read: each of $((number - 1)) allocations failed once, $short reads gave less"

number=0
refused=0
while :; do
	number=$((number + 1))
	expect_failure
	with_failure $number dd if="$1/wellspring.ko" of=$device bs=20000 count=1
	status=$?
	has_failed || break
	[ $status -eq 0 ] || refused=$((refused + 1))
done
[ $status -eq 0 ] || fail "write: refused without a failure"
echo "failslab/write: each of $((number - 1)) allocations failed once, $refused writes were refused"

pages 20
[ "$(head -c 4096 $device | wc -c)" -eq 4096 ] || fail "use: reads fail afterwards"
unload || fail "unload: it stays loaded"
is_gone || fail "unload: something is left"
[ $failures -gt 0 ] || echo "ok failslab/use: reads and writes with failures, and unloading"
exit $failures
