// A shader of a user, behind chacha8.wgsl: each invocation makes one number of each kind.

@group(0) @binding(0) var<uniform> key: WellspringKey;
@group(0) @binding(1) var<storage, read_write> numbers: array<vec4<u32>, 1024>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
    // Element 7 2^32 + i.
    let index = vec2(invocation.x, 7u);
    let word = wellspring_u32(key, index);
    numbers[invocation.x] = vec4(wellspring_u64(key, index), word, bitcast<u32>(wellspring_f32(word)));
}
