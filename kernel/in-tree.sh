#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Puts the module into a kernel's tree, as drivers/char/wellspring. Run again, it brings that
# up to date.
#
# usage: in-tree.sh TREE

set -e
here=$(dirname "$0")
above=${1:?usage: in-tree.sh TREE}/drivers/char
[ -e "$above/Kconfig" ] || { echo "in-tree.sh: no kernel's tree: $1" >&2; exit 2; }

mkdir -p "$above/wellspring"
# Without the files of a build, and keeping the times of files that did not change.
tar -C "$here" -cf - --exclude='*.o' --exclude='*.ko' --exclude='*.mod*' --exclude='.*.cmd' . |
	tar -C "$above/wellspring" -xf -
# The Makefile is for a build out of the tree.
rm "$above/wellspring/Makefile"

grep -q wellspring "$above/Makefile" ||
	echo 'obj-$(CONFIG_WELLSPRING) += wellspring/' >>"$above/Makefile"
grep -q wellspring "$above/Kconfig" ||
	sed -i '$ i source "drivers/char/wellspring/Kconfig"\n' "$above/Kconfig"
