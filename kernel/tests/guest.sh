#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The tests that load the module by themselves, without suspend.sh. It is not loaded before
# and after.
#
# usage: guest.sh FOLDER        where wellspring.ko and wellspring_test.ko are

status=0
early.sh "$1" || status=1
trace.sh "$1" || status=1
flood.sh "$1" || status=1
load.sh "$1/wellspring.ko" 3 2 || status=1
exit $status
