#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Reads within NMIs, which someone outside sends all the time.
#
# usage: nmi.sh FOLDER          where wellspring.ko and wellspring_test.ko are

insmod "$1/wellspring.ko" && insmod "$1/wellspring_test.ko" expects_nmi=1 || exit 1
status=0
kernel-test nmi || status=1
rmmod wellspring_test && rmmod wellspring || status=1
exit $status
