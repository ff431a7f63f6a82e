// Fills an array; behind chacha8.wgsl. Each invocation makes whole blocks.

struct WellspringFill {
    key: WellspringKey,
    first_block: vec2<u32>,
    // Words of the first block before the array, and words in the array.
    skipped: u32,
    length: u32,
    is_f32: u32,
}

@group(0) @binding(0) var<uniform> wellspring_fill: WellspringFill;
@group(0) @binding(1) var<storage, read_write> wellspring_out: array<u32>;

@compute @workgroup_size(64)
fn wellspring_main(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let end = wellspring_fill.skipped + wellspring_fill.length;
    let first = wellspring_fill.first_block;
    for (var i = invocation.x; i < (end + 15u) / 16u; i += 64u * groups.x) {
        let low = first.x + i;
        var block = wellspring_block(wellspring_fill.key, vec2(low, first.y + u32(low < i)));
        for (var place = max(16u * i, wellspring_fill.skipped); place < min(16u * i + 16u, end); place++) {
            let word = block[(place >> 2u) & 3u][place & 3u];
            let number = bitcast<u32>(wellspring_f32(word));
            wellspring_out[place - wellspring_fill.skipped] = select(word, number, wellspring_fill.is_f32 == 1u);
        }
    }
}
