#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Which features the kernel's headers have. Stable kernels and distributions take changes of
# newer versions, so a version number says little: Linux 6.12.115 has what came with 6.19.
# For each feature a few lines of C are compiled, by the compiler and the options that build
# the module. Nothing is written.
#
# usage: features.sh COMPILER OPTIONS...		Kbuild calls it
#
# Prints an option -DWS_HAS_... for each feature, and -DWS_FEATURES at the end. Some headers
# have neither the new form nor the old one: then it says so, and compat.h stops the build.

# A kernel may make errors of all warnings (CONFIG_WERROR), and these lines have some.
compiles() {
	"$compiler" "$@" -Wno-error -Werror=implicit-function-declaration -Werror=implicit-int \
		-Werror=incompatible-pointer-types -DMODULE -DKBUILD_MODNAME='"features"' \
		-DKBUILD_BASENAME='"features"' -fsyntax-only -x c -
}

# NAME, and the C of the new and of the old form.
feature() {
	name=$1
	new=$2
	old=$3
	shift 3
	if printf '%s\n' "$new" | compiles "$@" 2>/dev/null; then
		echo "-DWS_HAS_$name"
	elif ! errors=$(printf '%s\n' "$old" | compiles "$@" 2>&1); then
		echo "features.sh: the headers have neither form of $name:" >&2
		printf '%s\n' "$errors" >&2
		return 1
	fi
}

compiler=$1
shift
set -e

feature COPY_SPLICE_READ "
#include <linux/fs.h>
void *test(void) { return copy_splice_read; }" "
#include <linux/fs.h>
void *test(void) { return generic_file_splice_read; }" "$@"

feature SHA256_CTX "
#include <crypto/sha2.h>
void test(struct sha256_ctx *hash) { sha256_init(hash); }" "
#include <crypto/sha2.h>
void test(struct sha256_state *hash) { sha256_init(hash); }" "$@"

feature AES_ENCKEY "
#include <crypto/aes.h>
const u32 *test(struct aes_enckey *key, const u8 *bytes)
{ return aes_prepareenckey(key, bytes, 32) ? 0 : key->k.rndkeys; }" "
#include <crypto/aes.h>
const u32 *test(struct crypto_aes_ctx *key, const u8 *bytes)
{ return aes_expandkey(key, bytes, 32) ? 0 : key->key_enc; }" "$@"

# The old form: the new one is a string, which older headers take for a name.
feature TOKEN_NAMESPACE "
#include <linux/module.h>
MODULE_IMPORT_NS(TEST);" "
#include <linux/module.h>
MODULE_IMPORT_NS(\"TEST\");" "$@"

feature SYSCORE "
#include <linux/syscore_ops.h>
static void resume(void *data) { }
static const struct syscore_ops ops = { .resume = resume };
static struct syscore core = { .ops = &ops };
void test(void) { register_syscore(&core); unregister_syscore(&core); }" "
#include <linux/syscore_ops.h>
static void resume(void) { }
static struct syscore_ops ops = { .resume = resume };
void test(void) { register_syscore_ops(&ops); unregister_syscore_ops(&ops); }" "$@"

feature NEON_STATE "
#ifndef CONFIG_ARM64
#error other processors have nothing like it
#endif
#include <asm/neon.h>
void test(struct user_fpsimd_state *state) { kernel_neon_begin(state); kernel_neon_end(state); }" "
#ifdef CONFIG_ARM64
#include <asm/neon.h>
void test(void) { kernel_neon_begin(); kernel_neon_end(); }
#endif" "$@"

# User Mode Linux says CONFIG_X86_64 too.
feature LLC_ID "
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
#include <asm/processor.h>
u32 test(void) { return per_cpu_llc_id(0); }
#endif" "
#include <asm/processor.h>
u32 test(void) { return get_llc_id(0); }" "$@"

# Only the tests need this feature.
feature HRTIMER_SETUP "
#include <linux/hrtimer.h>
void test(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *))
{ hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL); }" "
#include <linux/hrtimer.h>
void test(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *))
{ hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL); timer->function = function; }" "$@"

echo -DWS_FEATURES
