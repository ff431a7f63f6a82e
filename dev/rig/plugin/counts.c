/*
 * A plugin for QEMU that counts between two marks which the guest executes (kernel/tests/readers.c): the instructions of the
 * marked processor, and the cache lines that another processor held.
 *
 * A line has a set of holders. A read adds the reader. A write leaves the writer alone. If the line had another holder,
 * then a write is a transfer, and so is the first read. This is the protocol MESI with caches that forget nothing. Only
 * accesses between marks count, so what other programs do is left out. A transfer is remote if the line came from another
 * node: for a write if a holder is there, for a read if all holders are. `per_node=` is how many processors a node has.
 *
 * At each end it writes a line to the file that `out=` names: the processor, the instructions, the transfers, and how many
 * of them were remote.
 *
 * Debian's QEMU has no header for plugins. What is used here is declared below, as version 4 has it (QEMU 9.2 to 10.0).
 * QEMU itself refuses a plugin of a version that it does not know.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
typedef uint32_t mem_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;
struct qemu_plugin_hwaddr;
typedef struct {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
} plugin_u64;
enum { INLINE_ADD_U64 };
enum { NO_REGISTERS };
enum { READS_AND_WRITES = 3 };

typedef void (*translated)(plugin_id, struct qemu_plugin_tb *);
typedef void (*executed)(unsigned int vcpu, void *unused);
typedef void (*accessed)(unsigned int vcpu, mem_info, uint64_t address, void *unused);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, translated);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *, size_t);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, executed, int, void *);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *, int, plugin_u64, uint64_t);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, accessed, int, int, void *);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(mem_info, uint64_t);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *);
bool qemu_plugin_mem_is_store(mem_info);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t);
uint64_t qemu_plugin_u64_get(plugin_u64, unsigned int);

EXPORT int qemu_plugin_version = 4;

/* A bit for each processor in the set of holders. */
#define VCPUS 8
/* Lines of 64 bytes in the first 4 GiB. */
#define LINES (1u << 26)

/* Instructions that change nothing, and that no compiler makes. */
static const uint8_t begin_x86[] = { 0x66, 0x87, 0xdb }, end_x86[] = { 0x66, 0x87, 0xc9 }; /* xchg %bx,%bx; xchg %cx,%cx */
static const uint8_t begin_arm64[] = { 0x1f, 0x2e, 0x03, 0xd5 }, end_arm64[] = { 0x3f, 0x2e, 0x03, 0xd5 }; /* hint #0x70; #0x71 */

static FILE *out;
static unsigned int per_node;
static plugin_u64 instructions;
static struct {
    bool counts;
    uint64_t since, transfers, remote;
} vcpus[VCPUS];
static _Atomic uint8_t holders[LINES];

static void begin(unsigned int vcpu, void *unused)
{
    if (vcpu >= VCPUS)
        return;
    vcpus[vcpu].counts = true;
    vcpus[vcpu].transfers = vcpus[vcpu].remote = 0;
    vcpus[vcpu].since = qemu_plugin_u64_get(instructions, vcpu);
}

static void end(unsigned int vcpu, void *unused)
{
    if (vcpu >= VCPUS || !vcpus[vcpu].counts)
        return;
    vcpus[vcpu].counts = false;
    fprintf(out, "%u %llu %llu %llu\n", vcpu,
            (unsigned long long)(qemu_plugin_u64_get(instructions, vcpu) - vcpus[vcpu].since),
            (unsigned long long)vcpus[vcpu].transfers, (unsigned long long)vcpus[vcpu].remote);
    fflush(out);
}

static void access_memory(unsigned int vcpu, mem_info info, uint64_t address, void *unused)
{
    struct qemu_plugin_hwaddr *place;
    uint8_t before, own = 1u << vcpu % VCPUS, node;
    uint64_t line;
    bool is_transfer, is_remote;

    if (vcpu >= VCPUS || !vcpus[vcpu].counts)
        return;
    place = qemu_plugin_get_hwaddr(info, address);
    if (!place || qemu_plugin_hwaddr_is_io(place))
        return;
    node = ((1u << per_node) - 1) << vcpu / per_node * per_node;
    line = qemu_plugin_hwaddr_phys_addr(place) / 64;
    if (line >= LINES)
        return;
    if (qemu_plugin_mem_is_store(info)) {
        before = atomic_exchange(&holders[line], own);
        is_transfer = before & ~own;
        is_remote = before & ~node;
    } else {
        before = atomic_fetch_or(&holders[line], own);
        is_transfer = before && !(before & own);
        is_remote = before && !(before & node);
    }
    vcpus[vcpu].transfers += is_transfer;
    vcpus[vcpu].remote += is_remote;
}

static void translate(plugin_id id, struct qemu_plugin_tb *block)
{
    size_t index, count = qemu_plugin_tb_n_insns(block);

    for (index = 0; index < count; index++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, index);
        uint8_t bytes[4] = { 0 };

        /* The marks are in the kernel: the upper half of the addresses. */
        if (!(qemu_plugin_insn_vaddr(insn) >> 63))
            continue;
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, INLINE_ADD_U64, instructions, 1);
        qemu_plugin_register_vcpu_mem_cb(insn, access_memory, NO_REGISTERS, READS_AND_WRITES, NULL);
        qemu_plugin_insn_data(insn, bytes, sizeof(bytes));
        if (!memcmp(bytes, begin_x86, sizeof(begin_x86)) || !memcmp(bytes, begin_arm64, sizeof(begin_arm64)))
            qemu_plugin_register_vcpu_insn_exec_cb(insn, begin, NO_REGISTERS, NULL);
        else if (!memcmp(bytes, end_x86, sizeof(end_x86)) || !memcmp(bytes, end_arm64, sizeof(end_arm64)))
            qemu_plugin_register_vcpu_insn_exec_cb(insn, end, NO_REGISTERS, NULL);
    }
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    if (argc == 2 && !strncmp(argv[0], "out=", 4) && !strncmp(argv[1], "per_node=", 9)) {
        out = fopen(argv[0] + 4, "w");
        per_node = strtoul(argv[1] + 9, NULL, 10);
    }
    if (!out || !per_node || per_node > VCPUS)
        return 1;
    instructions.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
