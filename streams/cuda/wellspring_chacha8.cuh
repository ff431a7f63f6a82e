// The numbers of wellspring's `Elements` with ChaCha8, bit for bit, for CUDA and plain C++.
//
// Every number depends on the key and its index alone: a thread calls for those that it needs, in any order.
//
// A product goes through `product`, so that no compiler merges it with a sum into one operation that rounds once; the rest
// of IEEE 754 is left to the compiler. Do not compile with -ffast-math: on a GPU --use_fast_math changes nothing here.

#ifndef WELLSPRING_CHACHA8_CUH
#define WELLSPRING_CHACHA8_CUH

#ifndef __CUDACC_RTC__
#include <cmath>
#include <cstring>
#endif

#ifdef __CUDACC__
#define WELLSPRING_FUNCTION __host__ __device__ inline
#else
#define WELLSPRING_FUNCTION inline
#endif

namespace wellspring {

using u32 = unsigned int;
using u64 = unsigned long long;

// Eight words: `SeedSequence(seed, spawn_key=path, pool_size=8).generate_state(8)` of NumPy, or `key_of`.
struct Key {
    u32 words[8];
};

// The rows of blocks that are the stream itself, and the words of normal numbers.
constexpr u64 STREAM_ROW = 0;
constexpr u64 NORMAL_ROW = 1ull << 63 | 3ull << 56;

WELLSPRING_FUNCTION u32 rotated(u32 x, int bits) { return x << bits | x >> (32 - bits); }

WELLSPRING_FUNCTION void quarter_round(u32 &a, u32 &b, u32 &c, u32 &d) {
    a += b, d = rotated(d ^ a, 16);
    c += d, b = rotated(b ^ c, 12);
    a += b, d = rotated(d ^ a, 8);
    c += d, b = rotated(b ^ c, 7);
}

// Block `number` of a row: its words of 32 bits are 16 number to 16 number + 15.
WELLSPRING_FUNCTION void block(const Key &key, u64 row, u64 number, u32 (&x)[16]) {
    const u32 numbers[] = {u32(number), u32(number >> 32), u32(row), u32(row >> 32)};
    // "expand 32-byte k" (Bernstein, "ChaCha, a variant of Salsa20", 2008).
    const u32 constants[] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (int i = 0; i < 16; i++) x[i] = i < 4 ? constants[i] : i < 12 ? key.words[i - 4] : numbers[i - 12];
    for (int double_round = 0; double_round < 4; double_round++) {
        for (int i = 0; i < 4; i++) quarter_round(x[i], x[4 + i], x[8 + i], x[12 + i]);
        for (int i = 0; i < 4; i++) quarter_round(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
    }
    for (int i = 0; i < 16; i++) x[i] += i < 4 ? constants[i] : i < 12 ? key.words[i - 4] : numbers[i - 12];
}

// Words of 32 and 64 bits. One call makes a whole block: who needs neighbours takes them of `block`.
WELLSPRING_FUNCTION u32 word32(const Key &key, u64 index) {
    u32 words[16];
    block(key, STREAM_ROW, index / 16, words);
    return words[index % 16];
}

WELLSPRING_FUNCTION u64 word64(const Key &key, u64 index, u64 row = STREAM_ROW) {
    u32 words[16];
    block(key, row, index / 8, words);
    return words[index % 8 * 2] | u64(words[index % 8 * 2 + 1]) << 32;
}

// Uniform numbers in [0, 1) from a word, multiples of 2^-24 and 2^-53; and from an index.
WELLSPRING_FUNCTION float uniform(u32 word) { return float(word >> 8) * (1.0f / (1 << 24)); }
WELLSPRING_FUNCTION double uniform(u64 word) { return double(word >> 11) * (1.0 / (1ull << 53)); }
WELLSPRING_FUNCTION float uniform32(const Key &key, u64 index) { return uniform(word32(key, index)); }
WELLSPRING_FUNCTION double uniform64(const Key &key, u64 index) { return uniform(word64(key, index)); }

// From here on: normal numbers by the ziggurat method (Marsaglia & Tsang, 2000), as wellspring-pseudo makes them.

WELLSPRING_FUNCTION double product(double x, double y) {
#ifdef __CUDA_ARCH__
    return __dmul_rn(x, y);
#else
    volatile double rounded = x * y;
    return rounded;
#endif
}

WELLSPRING_FUNCTION u64 bits_of(double x) {
#ifdef __CUDA_ARCH__
    return u64(__double_as_longlong(x));
#else
    u64 bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

WELLSPRING_FUNCTION double from_bits(u64 bits) {
#ifdef __CUDA_ARCH__
    return __longlong_as_double((long long)bits);
#else
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

// The natural logarithm of 2 in two parts. The upper one has 21 bits.
constexpr double LN_2_HIGH = 0.6931467056274414;
constexpr double LN_2_LOW = 4.7493250390316726e-07;

constexpr int LAYERS = 1024;
constexpr double TAIL = 4.038849846109505;
constexpr double AREA = 0.0012263246463530882;

WELLSPRING_FUNCTION double exponential_of(double x) {
    const long long n = (long long)(x / (LN_2_HIGH + LN_2_LOW) - 0.5);
    const double r = (x - product(double(n), LN_2_HIGH)) - product(double(n), LN_2_LOW);
    double sum = 1.0;
    for (int i = 14; i > 0; i--) sum = 1.0 + product(sum, r) / i;
    return product(sum, from_bits(u64(n + 1023) << 52));
}

WELLSPRING_FUNCTION double logarithm_of(double x) {
    const u64 bits = bits_of(x);
    double mantissa = from_bits((bits & ((1ull << 52) - 1)) | 1023ull << 52);
    const bool is_large = mantissa > 1.4142135623730951;
    const double exponent = double((long long)(bits >> 52) - 1023 + is_large);
    mantissa = is_large ? product(mantissa, 0.5) : mantissa;
    const double s = (mantissa - 1.0) / (mantissa + 1.0), square = product(s, s);
    double sum = 0.0;
    for (int i = 23; i > 1; i -= 2) sum = product(sum + 1.0 / i, square);
    const double fraction = product(product(2.0, s), 1.0 + sum);
    return product(exponent, LN_2_HIGH) + (product(exponent, LN_2_LOW) + fraction);
}

WELLSPRING_FUNCTION double density_at(double x) { return exponential_of(product(product(-0.5, x), x)); }

// The table of `normal`, of LAYERS + 1 numbers: how far each layer reaches. One thread makes it once.
WELLSPRING_FUNCTION void make_edges(double *edges) {
    edges[0] = AREA / density_at(TAIL);
    edges[1] = TAIL;
    for (int i = 1; i + 1 < LAYERS; i++)
        edges[i + 1] = sqrt(product(-2.0, logarithm_of(density_at(edges[i]) + AREA / edges[i])));
    edges[LAYERS] = 0.0;
}

// The words of one element alone, in the rows behind the row of the first words.
WELLSPRING_FUNCTION u64 own_word(const Key &key, u64 index, u32 place) {
    u32 words[16];
    block(key, NORMAL_ROW + 1 + place / 8, index, words);
    return words[place % 8 * 2] | u64(words[place % 8 * 2 + 1]) << 32;
}

WELLSPRING_FUNCTION double own_exponential(const Key &key, u64 index, u32 place) {
    return -logarithm_of(1.0 - uniform(own_word(key, index, place)));
}

// Element `index` of `standard_normal` in float64; rounded to float, that in float32.
WELLSPRING_FUNCTION double normal(const Key &key, u64 index, const double *edges) {
    u64 word = word64(key, index, NORMAL_ROW);
    double x;
    for (u32 place = 0;;) {
        const int layer = int(word % LAYERS);
        x = product(uniform(word), edges[layer]);
        if (x < edges[layer + 1]) break;
        if (layer == 0) {
            // Marsaglia, "Generating a variable from the tail of the normal distribution", 1964.
            double beyond, other;
            do {
                beyond = own_exponential(key, index, place++) / TAIL;
                other = own_exponential(key, index, place++);
            } while (!(product(2.0, other) > product(beyond, beyond)));
            x = TAIL + beyond;
            break;
        }
        const double below = density_at(edges[layer]), above = density_at(edges[layer + 1]);
        if (below + product(uniform(own_word(key, index, place++)), above - below) < density_at(x)) break;
        word = own_word(key, index, place++);
    }
    return from_bits(bits_of(x) | (word << 53 & 1ull << 63));
}

// The key of a seed and a path, for programs without NumPy: its SeedSequence (O'Neill 2015) with a pool of 256 bits.
WELLSPRING_FUNCTION u32 hashed(u32 word, u32 &multiplier, u32 factor) {
    word ^= multiplier;
    multiplier *= factor;
    word *= multiplier;
    return word ^ word >> 16;
}

WELLSPRING_FUNCTION void mix_in(u32 &pool, u32 word, u32 &multiplier) {
    const u32 mixed = 0xca01f9dd * pool - 0x4973f715 * hashed(word, multiplier, 0x931e8875);
    pool = mixed ^ mixed >> 16;
}

WELLSPRING_FUNCTION Key key_of(u64 seed, const u32 *path, int depth) {
    u32 pool[8] = {u32(seed), u32(seed >> 32)}, multiplier = 0x43b0d7e5;
    for (u32 &word : pool) word = hashed(word, multiplier, 0x931e8875);
    for (int from = 0; from < 8; from++)
        for (int to = 0; to < 8; to++)
            if (from != to) mix_in(pool[to], pool[from], multiplier);
    for (int i = 0; i < depth; i++)
        for (u32 &word : pool) mix_in(word, path[i], multiplier);
    Key key;
    multiplier = 0x8b51f9dd;
    for (int i = 0; i < 8; i++) key.words[i] = hashed(pool[i], multiplier, 0x58f38ded);
    return key;
}

}  // namespace wellspring

#endif
