/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Functions for the test module (tests/) beyond wellspring.h. Built with
 * WELLSPRING_TESTS=1 alone: a module for users exports none of it.
 */
#ifndef WELLSPRING_TESTING_H
#define WELLSPRING_TESTING_H

#include <linux/export.h>
#include <linux/version.h>

/* 6.13: the namespace of an export is a string. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define WS_TEST_NAMESPACE "WELLSPRING_TEST"
#else
#define WS_TEST_NAMESPACE WELLSPRING_TEST
#endif

#ifdef WELLSPRING_TESTS
#define WS_EXPORT_FOR_TEST(symbol) \
	EXPORT_SYMBOL_NS_GPL(symbol, WS_TEST_NAMESPACE)
#else
#define WS_EXPORT_FOR_TEST(symbol)
#endif

/* The test module says this once. */
#define WS_IMPORT_FOR_TEST() MODULE_IMPORT_NS(WS_TEST_NAMESPACE)

#endif
