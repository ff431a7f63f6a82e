#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# dm-crypt by wellspring_crypto: what it writes to a disk, dm-crypt by the kernel's own cipher
# reads, and the reverse. Needs dmsetup, and both modules loaded.
#
# usage: dm-crypt.sh FOLDER        where the modules are that dm-crypt and loop devices need
#
# Prints a line, "ok ..", "SKIPPED .." or "FAILED ..". The exit status is 1 for the last.

# There is no udev: dmsetup makes the device files.
export DM_DISABLE_UDEV=1
driver=xts-aes-wellspring
bytes=1048576
image=/tmp/dm-crypt-image

release() {
	for name in ours kernels; do
		[ ! -e /dev/mapper/$name ] || dmsetup remove $name
	done
	[ -z "$disk" ] || losetup -d "$disk"
	rm -f $image /tmp/dm-crypt-1 /tmp/dm-crypt-2
}

fail() {
	echo "FAILED dm-crypt: $*"
	exit 1
}

skip() {
	echo "SKIPPED dm-crypt: $*"
	exit 0
}

# Maps the disk to /dev/mapper/$1 by the cipher $2.
map() {
	dmsetup create "$1" --table "0 $((bytes / 512)) crypt $2 $key 0 $disk 0" &&
		[ -b "/dev/mapper/$1" ]
}

# How many hold the driver.
holders() {
	awk -v name=$driver '$1 == "driver" { ours = $3 == name }
		$1 == "refcnt" && ours { print $3 }' /proc/crypto
}

# Writes $1 to the mapping $2, reads it by the mapping $3, and leaves no page of it in a cache
# that another would read.
write_and_compare() {
	dd if="$1" of="/dev/mapper/$2" bs=65536 conv=fsync 2>/dev/null ||
		fail "$2 cannot be written"
	for device in /dev/mapper/ours /dev/mapper/kernels "$disk"; do
		blockdev --flushbufs "$device"
	done
	cmp "$1" "/dev/mapper/$3" || fail "$3 reads something else than $2 wrote"
	! cmp -s "$1" "$disk" || fail "$2 wrote plaintext"
}

grep -q "^driver *: $driver\$" /proc/crypto || skip "wellspring_crypto is not loaded"
for module in "$1"/*; do
	# Some are loaded already.
	[ ! -e "$module" ] || insmod "$module" 2>/dev/null
done
[ -e /dev/mapper/control ] || skip "this kernel has no device mapper"

disk=
trap release EXIT
truncate -s $bytes $image
disk=$(losetup -f) && losetup "$disk" $image || { disk=; fail "no loop device"; }
key=$(head -c 64 /dev/urandom | od -An -v -tx1 | tr -d ' \n')
for number in 1 2; do
	head -c $bytes /dev/urandom >/tmp/dm-crypt-$number
done

before=$(holders)
map ours capi:$driver-plain64 || fail "no mapping by $driver"
with_ours=$(holders)
map kernels aes-xts-plain64 || fail "no mapping by the kernel's cipher"
[ "$with_ours" -gt "$before" ] || fail "$driver has $with_ours holders, and had $before"
[ "$(holders)" -eq "$with_ours" ] || fail "the other mapping takes $driver too"

write_and_compare /tmp/dm-crypt-1 ours kernels
write_and_compare /tmp/dm-crypt-2 kernels ours
echo "ok dm-crypt: $driver and the kernel's cipher read $bytes bytes of each other"
