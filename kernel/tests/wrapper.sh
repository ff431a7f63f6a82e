#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# What crypto/simd.c costs a task (wrapper.c): Linux 6.12 as User Mode Linux, natively. There the kernel wraps its SIMD
# ciphers still. The first run builds that kernel, which takes three minutes of a processor.
#
# usage: wrapper.sh SOURCE BUILD [ROUNDS]    SOURCE: /usr/src/linux-source-6.12.tar.xz of Debian
#                                            BUILD: a folder that is kept between runs
#                                            CC: the compiler, gcc-12 by default
# Needs flex, bison and bc.
set -e
archive=$(readlink -f "$1")
mkdir -p "$2"
build=$(readlink -f "$2")
source=$build/linux-source-6.12
rounds=${3:-101}
module=$(dirname "$(dirname "$(readlink -f "$0")")")
cc=${CC:-gcc-12}
glue=$source/arch/x86/crypto/aesni-intel_glue.c

if ! [ -x "$build/kernel/linux" ]; then
	rm -rf "$source" "$build/kernel"
	mkdir "$build/kernel"
	tar -C "$build" -xf "$archive"
	# The wrapper has no prompt, and nothing in User Mode Linux selects it.
	sed -i '/^config CRYPTO_SIMD$/{n;s/tristate$/tristate "SIMD"/}' "$source/crypto/Kconfig"
	# It has 2696 bytes for a program's registers, and a processor with AMX has 11,008. XMM alone is saved
	# then, which is enough for the program below.
	sed -i 's/have_xstate_support = 1;/have_xstate_support = 0;/' "$source/arch/x86/um/os-Linux/registers.c"
	uml="make -s -C $source O=$build/kernel ARCH=um CC=$cc"
	$uml tinyconfig
	for option in 64BIT PREEMPT HIGH_RES_TIMERS MODULES MODULE_UNLOAD PRINTK KALLSYMS BLK_DEV_INITRD BINFMT_ELF \
		DEVTMPFS PROC_FS MULTIUSER FUTEX STDERR_CONSOLE NULL_CHAN NET CRYPTO CRYPTO_MANAGER CRYPTO_AES CRYPTO_CTR \
		CRYPTO_ECB CRYPTO_XTS CRYPTO_CRYPTD CRYPTO_SIMD CRYPTO_LIB_CHACHA EXPERT CC_OPTIMIZE_FOR_PERFORMANCE \
		INIT_STACK_ALL_ZERO DEBUG_INFO_NONE
	do echo "CONFIG_$option=y"; done >>"$build/kernel/.config"
	for option in SLUB_TINY BASE_SMALL CC_OPTIMIZE_FOR_SIZE TRIM_UNUSED_KSYMS CRYPTO_MANAGER_DISABLE_TESTS
	do echo "# CONFIG_$option is not set"; done >>"$build/kernel/.config"
	$uml olddefconfig
	$uml -j"$(nproc)" linux modules
fi

# The ciphers and sections of the two modules as they are, without what makes bytes.
rm -rf "$build/modules"
cp -r "$module" "$build/modules"
cd "$build/modules"
cp tests/wrapper.c wrapper.c
# Here a state of ChaCha has no type of its own yet.
sed -i 's/struct chacha_state \*/u32 */' arch/um/machine.h
cat >sections-init.c <<'END'
#include <crypto/chacha.h>
#include <linux/module.h>
#include "internal.h"
/* The kernel's ChaCha20 with SIMD lies elsewhere in 6.12, and no cipher here needs it. */
void ws_arch_chacha20_init(void) { }
void ws_arch_chacha20_crypt(u32 *state, u8 *dst, const u8 *src, unsigned int bytes) { }
static int __init sections_init(void)
{
	return ws_simd_init();
}
module_init(sections_init);
MODULE_LICENSE("Dual MIT/GPL");
END

# The kernel's own AES-XTS: its assembly as it is, and its glue without what belongs to other modes.
cp "$source/arch/x86/crypto/aes-xts-avx-x86_64.S" kernel-xts.S
{
	cat <<'END'
#include <crypto/aes.h>
#include <crypto/internal/skcipher.h>
#include <crypto/scatterwalk.h>
#include <crypto/xts.h>
#include <linux/highmem.h>
#include <linux/module.h>
#include "wrapper.h"
END
	sed -n '/^#define AESNI_ALIGN\t/,/^asmlinkage/p' "$glue" | sed '$d'
	sed -n '/^static inline struct aesni_xts_ctx \*aes_xts_ctx/,/^}/p' "$glue"
	# The other way of expanding a key there is assembly of another file; it gives the same.
	echo '#define aes_set_key_common aes_expandkey'
	echo '#pragma GCC diagnostic ignored "-Wunused-variable"'
	sed -n '/^static int xts_setkey_aesni/,/^}/p' "$glue"
	sed -n '/^typedef void (\*xts_encrypt_iv_func)/,/^static void aesni_xts_encrypt_iv/p' "$glue" | sed '$d'
	sed -n '/^asmlinkage void aes_xts_encrypt_iv/,/^DEFINE_XTS_ALG(aesni_avx/p' "$glue"
	sed -n '/^DEFINE_XTS_ALG(vaes/p' "$glue"
	cat <<'END'
struct skcipher_alg *const kernel_ciphers[] = { &aes_xts_alg_aesni_avx, &aes_xts_alg_vaes_avx2, &aes_xts_alg_vaes_avx10_256,
						&aes_xts_alg_vaes_avx10_512, NULL };
END
} >kernel-glue.c
cat >wrapper.h <<'END'
#include <linux/types.h>
struct skcipher_alg;
struct x86_simd_skcipher_alg;
extern struct skcipher_alg *const kernel_ciphers[];
void kernel_fpu_begin(void);
void kernel_fpu_end(void);
bool irq_fpu_usable(void);
struct x86_simd_skcipher_alg *x86_simd_skcipher_create_compat(struct skcipher_alg *cipher, const char *algname,
							      const char *drvname, const char *basename);
void x86_simd_skcipher_free(struct x86_simd_skcipher_alg *cipher);
END
# A second copy of the wrapper, which asks as x86 does whether the FPU may be used.
sed -e '/^int simd_register_skciphers_compat/,$d' -e 's/#include <asm\/simd.h>/#include "wrapper.h"/' \
	-e 's/!crypto_simd_usable()/!irq_fpu_usable()/' -e 's/\bsimd_skcipher/x86_simd_skcipher/g' \
	-e '/^EXPORT_SYMBOL/d' -e '/include <crypto\/internal\/simd.h>/d' "$source/crypto/simd.c" >x86-simd.c
cat >Kbuild <<'END'
obj-m := sections.o wellspring_crypto.o xts_wrapper.o
sections-y := sections-init.o cipher.o arch/um/simd.o arch/x86/aes-ctr.o
wellspring_crypto-y := skcipher.o arch/x86/aes-blocks.o
xts_wrapper-y := wrapper.o kernel-glue.o kernel-xts.o x86-simd.o
features := $(shell $(CONFIG_SHELL) $(src)/features.sh $(CC) $(NOSTDINC_FLAGS) $(LINUXINCLUDE) \
	-include $(srctree)/include/linux/compiler_types.h $(KBUILD_CPPFLAGS) $(KBUILD_CFLAGS) $(KBUILD_CFLAGS_MODULE))
ccflags-y += -I$(src)/arch/um -I$(src)/arch/x86 -I$(src) $(features) -DCONFIG_AS_VAES -DCONFIG_AS_VPCLMULQDQ
asflags-y += -DCONFIG_AS_VAES -DCONFIG_AS_VPCLMULQDQ
END
make -s -C "$source" O="$build/kernel" M="$build/modules" ARCH=um CC="$cc" modules

# Loads them and ends. It uses no register that the change above would lose.
cat >init.c <<'END'
#include <asm/unistd_64.h>
static long call(long number, long a, long b, long c, long d)
{
	register long fourth asm("r10") = d;
	long result;

	asm volatile("syscall" : "=a" (result) : "a" (number), "D" (a), "S" (b), "d" (c), "r" (fourth)
		     : "rcx", "r11", "memory");
	return result;
}
void _start(void)
{
	static const char *const names[] = { "/sections.ko", "/wellspring_crypto.ko", "/xts_wrapper.ko" };
	int i;

	for (i = 0; i < 3; i++)
		call(__NR_finit_module, call(__NR_open, (long)names[i], 0, 0, 0), (long)(i == 2 ? ROUNDS : ""), 0, 0);
	call(__NR_reboot, 0xfee1dead, 0x28121969, 0x4321fedc, 0);
	for (;;)
		;
}
END
"$cc" -O1 -static -nostdlib -mgeneral-regs-only -fno-stack-protector "-DROUNDS=\"rounds=$rounds\"" init.c -o init
{
	echo "dir /dev 755 0 0"
	for name in sections wellspring_crypto xts_wrapper; do echo "file /$name.ko $name.ko 644 0 0"; done
	echo "file /init init 755 0 0"
} | "$build/kernel/usr/gen_init_cpio" - >"$build/initramfs"

output=$(timeout -k 5 300 "$build/kernel/linux" mem=256M initrd="$build/initramfs" con=null con0=null,fd:1 rdinit=/init panic=1 \
	</dev/null)
printf '%s\n' "$output" | sed -n 's/^.*xts_wrapper: //p'
# Its last line.
case $output in *"xts_wrapper: all ciphers were measured"*) ;; *)
	printf '%s\n' "$output" | tail -n 30 >&2
	exit 1
	;;
esac
