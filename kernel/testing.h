/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Functions for the test module (tests/) beyond wellspring.h. Built with
 * WELLSPRING_TESTS=1 alone: a module for users exports none of it.
 */
#ifndef WELLSPRING_TESTING_H
#define WELLSPRING_TESTING_H

#include <linux/export.h>

#ifdef WELLSPRING_TESTS
#define WS_EXPORT_FOR_TEST(symbol) EXPORT_SYMBOL_GPL(symbol)
#else
#define WS_EXPORT_FOR_TEST(symbol)
#endif

#endif
