// The words of wellspring's `Elements` with ChaCha8 and their uniform numbers, bit for bit, in integers of 32 bits.
//
// Put this text in front of your own shader. An index is a number of 64 bits: vec2(lower half, upper half). The key is that
// of `key_words(seed, path)`. There are no normal numbers: they need f64, which WGSL does not have, and it lets a
// compiler merge a product and a sum, so that f32 would differ from device to device.

struct WellspringKey {
    words: array<vec4<u32>, 2>,
}

// "expand 32-byte k" (Bernstein, "ChaCha, a variant of Salsa20", 2008).
const wellspring_constants = vec4<u32>(0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u);

fn wellspring_rotated(x: vec4<u32>, bits: u32) -> vec4<u32> {
    return (x << vec4(bits)) | (x >> vec4(32u - bits));
}

// The four columns of a state at a time. Its rows are vectors.
fn wellspring_quarter_rounds(state: array<vec4<u32>, 4>) -> array<vec4<u32>, 4> {
    var a = state[0];
    var b = state[1];
    var c = state[2];
    var d = state[3];
    a += b;
    d = wellspring_rotated(d ^ a, 16u);
    c += d;
    b = wellspring_rotated(b ^ c, 12u);
    a += b;
    d = wellspring_rotated(d ^ a, 8u);
    c += d;
    b = wellspring_rotated(b ^ c, 7u);
    return array(a, b, c, d);
}

// Block `number` of the stream: the words 16 number to 16 number + 15, four in a vector.
fn wellspring_block(key: WellspringKey, number: vec2<u32>) -> array<vec4<u32>, 4> {
    let start = array(wellspring_constants, key.words[0], key.words[1], vec4(number, 0u, 0u));
    var x = start;
    for (var double_round = 0; double_round < 4; double_round++) {
        x = wellspring_quarter_rounds(x);
        // The diagonals become columns, and columns again.
        x = wellspring_quarter_rounds(array(x[0], x[1].yzwx, x[2].zwxy, x[3].wxyz));
        x = array(x[0], x[1].wxyz, x[2].zwxy, x[3].yzwx);
    }
    return array(x[0] + start[0], x[1] + start[1], x[2] + start[2], x[3] + start[3]);
}

// Word `index` of 32 bits. One call makes a block of 16: who needs neighbours takes them of `wellspring_block`.
fn wellspring_u32(key: WellspringKey, index: vec2<u32>) -> u32 {
    var block = wellspring_block(key, vec2((index.x >> 4u) | (index.y << 28u), index.y >> 4u));
    return block[(index.x >> 2u) & 3u][index.x & 3u];
}

// Word `index` of 64 bits, the lower half first.
fn wellspring_u64(key: WellspringKey, index: vec2<u32>) -> vec2<u32> {
    var block = wellspring_block(key, vec2((index.x >> 3u) | (index.y << 29u), index.y >> 3u));
    let four = block[(index.x >> 1u) & 3u];
    return select(four.xy, four.zw, (index.x & 1u) == 1u);
}

// The uniform number of a word of 32 bits: a multiple of 2^-24 in [0, 1), exact on every device.
fn wellspring_f32(word: u32) -> f32 {
    return f32(word >> 8u) * 0x1p-24f;
}
