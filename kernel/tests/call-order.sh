#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Checks that the module has no circles: each object file uses only symbols of object
# files that come before it in Kbuild, and each header includes only headers that do not
# include it again. And what others see of the module: its own functions are exported in a
# namespace, and no alias has the kernel load it for users of AF_ALG.
#
# usage: call-order.sh FOLDER      a folder in which the module was built

cd "$1" || exit 2
status=0
before=$(mktemp)
mine=$(mktemp)
others=$(mktemp)
trap 'rm -f "$before" "$mine" "$others"' EXIT
# Kbuild's list, in its order.
all=$(cat wellspring.mod)

for object in $all; do
	nm --defined-only "$object" | awk '$2 ~ /[A-Z]/ { print $3 }' >"$mine"
	for other in $all; do
		[ "$other" != "$object" ] || continue
		nm --defined-only "$other" | awk '$2 ~ /[A-Z]/ { print $3 }'
	done | sort -u >"$others"
	for symbol in $(nm --undefined-only "$object" | awk '{ print $2 }'); do
		if grep -qx "$symbol" "$others" && ! grep -qx "$symbol" "$before"; then
			echo "$object uses $symbol, which is defined further down"
			status=1
		fi
	done
	cat "$mine" >>"$before"
done

# tsort names circles on stderr.
circles=$(grep -H '^#include "' *.h arch/*/*.h | sed 's|^arch/[^/]*/||' |
	sed 's/^\([^:]*\):#include "\(.*\)"$/\1 \2/' |
	tsort 2>&1 >/dev/null)
[ -z "$circles" ] || { echo "$circles"; status=1; }
awk -F '\t' '$2 ~ /^ws_/ && $5 != "WELLSPRING_INTERNAL" { print $2 " is exported to all"; found = 1 }
	END { exit found }' Module.symvers || status=1
for module in wellspring*.ko; do
	! grep -qa 'alias=crypto-' "$module" || { echo "$module has an alias"; status=1; }
done
[ $status -ne 0 ] || echo "no circles in $(echo $all | wc -w) files"
exit $status
