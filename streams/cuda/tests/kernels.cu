// Every function of the header in a kernel. The loops are the ones of docs/how-to/accelerators.md.
#include "../wellspring_chacha8.cuh"

using namespace wellspring;

template <typename Number, typename Make>
__device__ void fill(Number *out, u64 length, Make make) {
    const u64 threads = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < length; i += threads) out[i] = make(i);
}

#define KERNEL(name, Number, number)                                                                          \
    extern "C" __global__ void name(Number *out, const Key *key, u64 first, u64 length, const double *edges) { \
        fill(out, length, [=](u64 i) { return Number(number); });                                              \
    }

KERNEL(fill_word32, u32, word32(*key, first + i))
KERNEL(fill_word64, u64, word64(*key, first + i))
KERNEL(fill_uniform32, float, uniform32(*key, first + i))
KERNEL(fill_uniform64, double, uniform64(*key, first + i))
KERNEL(fill_normal32, float, normal(*key, first + i, edges))
KERNEL(fill_normal64, double, normal(*key, first + i, edges))

extern "C" __global__ void make_table(double *edges) { make_edges(edges); }

extern "C" __global__ void make_key(Key *key, u64 seed, const u32 *path, int depth) { *key = key_of(seed, path, depth); }
