/*
 * A plugin for the user mode of QEMU that counts the instructions of a program and prints their number at its end. The
 * difference between two runs, of few and of many requests, is what the requests took.
 *
 * Debian's QEMU has no header for plugins. What is used here is declared below, as version 1 has it (QEMU 7.2 of Debian
 * 12; its QEMU 10 has no plugins in user mode).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { INLINE_ADD_U64 };

typedef void (*translated)(uint64_t id, struct qemu_plugin_tb *);
typedef void (*ended)(uint64_t id, void *unused);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int, void *, uint64_t);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated);
void qemu_plugin_register_atexit_cb(uint64_t id, ended, void *);

EXPORT int qemu_plugin_version = 1;

/* All threads count here. The sum is exact for programs with one thread. */
static uint64_t instructions;

static void translate(uint64_t id, struct qemu_plugin_tb *block)
{
    size_t index, count = qemu_plugin_tb_n_insns(block);

    for (index = 0; index < count; index++)
        qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_tb_get_insn(block, index), INLINE_ADD_U64,
                                                   &instructions, 1);
}

static void print(uint64_t id, void *unused)
{
    fprintf(stderr, "instructions %llu\n", (unsigned long long)instructions);
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, print, NULL);
    return 0;
}
