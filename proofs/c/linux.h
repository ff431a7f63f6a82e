/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the module uses of the kernel, for CBMC. Each header that it includes is an empty file, and this
 * one stands for all of them. One CPU, one thread: the order of memory is a matter of ../orders/.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* compat.h and trace.h are left out by their guards. */
#define WELLSPRING_COMPAT_H
#define WELLSPRING_TRACE_H

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef u32 __le32;
typedef u64 __le64;
typedef s64 ktime_t;
typedef long ssize_t;
typedef unsigned int gfp_t;
typedef u64 __attribute__((aligned(1))) ws_unaligned_u64;

/* Annotations, and what happens outside of the proofs. */
#define __percpu
#define __rcu
#define __user
#define __force
#define __must_check
#define __ro_after_init
#define __maybe_unused
#define __acquires(x)
#define __releases(x)
#undef __always_inline
#define __always_inline inline
#define noinline
#define ____cacheline_aligned_in_smp
#define likely(x) (x)
#define unlikely(x) (x)
#define data_race(x) (x)
#define barrier() ((void)0)
#define cond_resched() ((void)0)
#define EXPORT_SYMBOL_GPL(symbol)
#define EXPORT_SYMBOL_NS_GPL(symbol, namespace)
#define EXPORT_PER_CPU_SYMBOL_GPL(symbol)
#define module_param(name, type, mode)
#define module_param_cb(name, ops, argument, mode)
#define MODULE_PARM_DESC(name, text)
#define IS_ENABLED(option) 0
#define IS_REACHABLE(option) 0
#define pr_warn(...) ((void)0)
#define trace_wellspring_fetch(node, context, generation) ((void)0)
#define trace_wellspring_generation(generation) ((void)0)
#define trace_wellspring_refusal(bytes) ((void)0)
#define trace_wellspring_reseed(reseeds, pools) ((void)0)

#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define EPERM 1
#define EAGAIN 11
#define ENXIO 6
#define ENOMEM 12
#define EFAULT 14
#define EINVAL 22
#define ENODATA 61
#define EOPNOTSUPP 95

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define round_down(x, y) ((x) / (y) * (y))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min3(a, b, c) min(min(a, b), c)
#define min_t(type, a, b) min((type)(a), (type)(b))
#define swap(a, b) do { __typeof__(a) kept_ = (a); (a) = (b); (b) = kept_; } while (0)
#define cpu_to_le32(x) (x)
#define cpu_to_le64(x) (x)
#define lower_32_bits(x) ((u32)(x))
#define upper_32_bits(x) ((u32)((x) >> 32))
#define memzero_explicit(memory, size) memset(memory, 0, size)
#define __ffs(word) ((unsigned int)__builtin_ctzl(word))

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))
#define smp_load_acquire(pointer) READ_ONCE(*(pointer))
#define smp_store_release(pointer, value) WRITE_ONCE(*(pointer), value)

typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;
#define ATOMIC_INIT(value) { value }
#define ATOMIC64_INIT(value) { value }
#define atomic_read(v) ((v)->counter)
#define atomic_read_acquire(v) ((v)->counter)
#define atomic64_read(v) ((v)->counter)
#define atomic64_read_acquire(v) ((v)->counter)
#define atomic64_inc_return(v) (++(v)->counter)

typedef struct { int unused; } raw_spinlock_t, spinlock_t, wait_queue_head_t;
struct mutex { int unused; };
#define DEFINE_MUTEX(name) struct mutex name
#define mutex_lock(lock) ((void)(lock))
#define mutex_unlock(lock) ((void)(lock))
struct file;

#define SHA256_DIGEST_SIZE 32
struct sha256_ctx { int unused; };
void sha256_init(struct sha256_ctx *hash);
void sha256_update(struct sha256_ctx *hash, const u8 *data, size_t len);
void sha256_final(struct sha256_ctx *hash, u8 *digest);
void sha256(const u8 *data, size_t len, u8 *digest);
struct ws_arch_simd { int unused; };

ktime_t ktime_get(void);
#define ktime_to_ms(time) ((u64)(time) / 1000000)

/* Preemption, contexts, and data of this CPU. */
extern int preemption_off;
#define preempt_disable() ((void)preemption_off++)
#define preempt_enable() ((void)preemption_off--)
#define preempt_disable_notrace() preempt_disable()
#define preempt_enable_notrace() preempt_enable()
unsigned int interrupt_context_level(void);
#define in_serving_softirq() 0
#define this_cpu_ptr(pointer) \
	(__CPROVER_assert(preemption_off > 0, "data of this CPU, with preemption off"), (pointer))
#define per_cpu_ptr(pointer, cpu) (pointer)
#define per_cpu(name, cpu) (name)
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < 1; (cpu)++)

/* Any value. */
bool nondet_bool(void);
u8 nondet_byte(void);
u32 nondet_u32(void);
u64 nondet_u64(void);
int nondet_int(void);
size_t nondet_size(void);

/* Parameters of the module, and what waits: not part of any proof. */
struct kernel_param { int unused; };
struct kernel_param_ops {
	int (*set)(const char *value, const struct kernel_param *parameter);
	int (*get)(char *buf, const struct kernel_param *parameter);
};
#define sysfs_match_string(names, value) nondet_int()
#define sysfs_emit(buf, ...) 0
#define kstrtobool(value, result) (*(result) = nondet_bool(), 0)
#define wait_event_interruptible(queue, condition) nondet_int()
#define alloc_percpu(type) ((type *)NULL)
#define free_percpu(memory) ((void)(memory))
#define in_nmi() nondet_bool()
#define numa_node_id() 0
#define get_random_bytes(buf, len) ((void)(buf))
unsigned long random_get_entropy(void);
bool ws_arch_random_word(unsigned long *word);

/* FPU sections and ciphers: known answers test them, and no proof looks inside. */
#define DEFINE_PER_CPU(type, name) type name
#define this_cpu_inc(counter) ((void)(counter)++)
#define DECLARE_PER_CPU(type, name) extern type name
#define this_cpu_add_return(counter, value) ((counter) += (value))
#define OPTIMIZER_HIDE_VAR(variable) ((void)(variable))
#define in_hardirq() nondet_bool()
#define irqs_disabled() nondet_bool()
#define softirq_count() nondet_int()
#define local_bh_disable() ((void)0)
#define local_bh_enable() ((void)0)
#define WARN_ON_ONCE(condition) ((void)(condition))
#define kmsan_unpoison_memory(memory, size) ((void)0)
#define WS_ARCH_SIMD_WANTS_INTERRUPTS 0
#define WS_ARCH_AES_NAMES "SIMD of 128 bits", "SIMD of 256 bits"
#define ws_arch_simd_usable() nondet_bool()
#define ws_arch_register_bytes() 16
#define ws_arch_simd_begin(simd) ((void)(simd))
#define ws_arch_simd_end(simd) ((void)(simd))
#define ws_arch_simd_wipe(register_bytes) ((void)0)
#define ws_arch_aes_expand(words) ((void)(words))
#define ws_arch_aes_blocks(keys, backend, counter, dst, blocks) (blocks)
#define ws_arch_aes_detect() WS_SCALAR
#define ws_arch_chacha20_init() ((void)0)
#define ws_arch_chacha20_crypt(state, dst, src, len) ((void)(state))
#define ws_chacha20_block(state, block) ((void)(state))
#define aes_prepareenckey(key, bytes, len) ((void)(bytes), 0)
#define aes_encrypt(key, dst, src) ((void)(src))
struct aes_enckey { int unused; };
struct ws_chacha_state { u32 x[16]; };

#define strlen(text) (sizeof(text) - 1)

/* Nodes: one CPU and one thread, so locks and grace periods are nothing. */
#define __init
#define DECLARE_WAIT_QUEUE_HEAD(name) wait_queue_head_t name
#define wake_up_all(queue) ((void)(queue))
#define atomic_xchg(v, value) atomic_exchange_value(&(v)->counter, value)
#define atomic_try_cmpxchg_release(v, old, new) ((v)->counter = (new), true)
#define raw_spin_lock_init(lock) ((void)(lock))
#define raw_spin_trylock_irqsave(lock, flags) ((void)(lock), (flags) = 0, true)
#define raw_spin_lock_irqsave(lock, flags) ((void)(lock), (flags) = 0)
#define raw_spin_unlock_irqrestore(lock, flags) ((void)(lock), (void)(flags))
#define ktime_get_mono_fast_ns() nondet_u64()
#define rcu_read_lock() ((void)0)
#define rcu_read_unlock() ((void)0)
#define synchronize_rcu() ((void)0)
#define rcu_dereference(pointer) (pointer)
#define rcu_dereference_protected(pointer, condition) (pointer)
#define rcu_assign_pointer(pointer, value) ((pointer) = (value))
#define RCU_INIT_POINTER(pointer, value) ((pointer) = (value))
#define array_index_nospec(index, size) (index)
#define nr_cpu_ids 1
#define NUMA_NO_NODE (-1)
#define node_online(node) true
#define node_distance(a, b) 10
#define for_each_online_node(node) for ((node) = 0; (node) < 1; (node)++)
#define for_each_online_cpu(cpu) for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define raw_smp_processor_id() 0
#define WS_ARCH_KNOWS_CACHES 0
#define ws_arch_cache(cpu) 0
#define cpu_to_node(cpu) 0
#define cpuhp_tasks_frozen false
#define CPUHP_BP_PREPARE_DYN 0
#define CPUHP_AP_ONLINE_DYN 1
#define cpuhp_setup_state(state, name, coming, gone) nondet_int()
#define cpuhp_setup_state_nocalls(state, name, coming, gone) nondet_int()
#define cpuhp_remove_state_nocalls(state) ((void)(state))
#define MEM_ONLINE 0
#define MEM_OFFLINE 1
#define NOTIFY_OK 0
struct notifier_block {
	int (*notifier_call)(struct notifier_block *block, unsigned long action, void *data);
};
#define register_memory_notifier(block) ((void)(block), nondet_int())
#define unregister_memory_notifier(block) ((void)(block))
#define ZONE_NORMAL 0
struct zone { int unused; };
struct pglist_data { struct zone node_zones[1]; };
static struct pglist_data memory_of_node;
#define NODE_DATA(node) (&memory_of_node)
#define managed_zone(zone) ((void)(zone), nondet_bool())
static inline int atomic_exchange_value(int *counter, int value)
{
	int old = *counter;

	*counter = value;
	return old;
}

/* The device. A user's memory may change between two looks, and any access may fail. */
#define CAP_SYS_ADMIN 21
bool capable(int capability);
#define get_user(value, address) ((void)(address), (value) = nondet_int(), nondet_bool() ? -EFAULT : 0)
#define put_user(value, address) ((void)(value), (void)(address), nondet_bool() ? -EFAULT : 0)
bool copy_from_user(void *to, const void *from, size_t len);
bool copy_to_user(void *to, const void *from, size_t len);
#define GFP_KERNEL 0
#define GFP_NOWAIT 1
#define __GFP_NOWARN 2
#define PAGE_SIZE 4096UL
#define MAX_RW_COUNT ((size_t)INT_MAX / PAGE_SIZE * PAGE_SIZE)
#define __get_free_page(flags) 0UL
#define free_page(page) ((void)(page))
#define signal_pending(task) nondet_bool()
#define ITER_SOURCE 1
struct iov_iter { size_t count; };
#define iov_iter_count(iter) ((iter)->count)
#define iov_iter_ubuf(iter, direction, address, len) ((void)(address), (void)((iter)->count = (len)))
size_t copy_from_iter(void *to, size_t len, struct iov_iter *iter);
#define copy_to_iter(from, len, iter) ((void)(from), (iter)->count -= (len), (len))
enum { RNDGETENTCNT = 1, RNDADDTOENTCNT, RNDADDENTROPY, RNDZAPENTCNT, RNDCLEARPOOL, RNDRESEEDCRNG };
#define _IOWR(letter, number, type) (number)
#define _IOW(letter, number, type) (number)
#define _IOR(letter, number, type) (number)
typedef u32 __u32;
typedef u8 __u8;
typedef u16 __u16;
typedef u64 __u64;
typedef unsigned int __poll_t;
typedef struct { int unused; } poll_table;
struct inode { int unused; };
#define O_NONBLOCK 04000
#define IOCB_NOWAIT 1
#define IOCB_NOIO 2
#define FMODE_NOWAIT 1
struct file { int f_flags; int f_mode; };
struct kiocb { int ki_flags; struct file *ki_filp; };
#define poll_wait(file, queue, wait) ((void)(queue))
#define EPOLLIN 1
#define EPOLLRDNORM 2
#define EPOLLOUT 4
#define EPOLLWRNORM 8
struct file_operations {
	void *owner, *open, *read_iter, *write_iter, *poll, *unlocked_ioctl, *compat_ioctl;
	void *llseek, *splice_read, *splice_write;
};
#define THIS_MODULE NULL
#define ws_splice_read NULL
#define compat_ptr_ioctl NULL
#define noop_llseek NULL
#define iter_file_splice_write NULL
#define MISC_DYNAMIC_MINOR 255
struct miscdevice { int minor, mode; const char *name; const struct file_operations *fops; };
#define misc_register(device) nondet_int()
#define misc_deregister(device) ((void)(device))

/* A case that must be possible: CBMC has to refute that it is not. Else a proof may be true for want of cases. */
#define REACHED(condition, what) __CPROVER_assert(!(condition), "REACHED " what)
