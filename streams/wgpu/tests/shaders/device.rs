//! The shaders on a device of this machine against wellspring-pseudo: Mesa's lavapipe is one on any CPU.

use std::sync::mpsc;
use std::time::Duration;

use wellspring_pseudo::{Algorithm, Elements};
use wellspring_wgpu::{FillError, FillPipeline, Number, WGSL, key_words};
use wgpu::util::DeviceExt;

const SEED: u128 = 2026;
const PATH: [u32; 3] = [3, 0, 17];
const NUMBERS: [Number; 3] = [Number::U32, Number::U64, Number::F32];

/// The many words, or as many as WELLSPRING_DRAWS says.
fn draws() -> u64 {
    let draws = std::env::var("WELLSPRING_DRAWS");
    draws.map_or(10_000_000, |draws| draws.parse().unwrap())
}

/// A device, or `None` if the machine has none; says so.
fn device() -> Option<(wgpu::Device, wgpu::Queue)> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = pollster::block_on(instance.request_adapter(&Default::default()));
    let adapter = adapter
        .inspect_err(|error| eprintln!("SKIPPED: {error}; Debian's mesa-vulkan-drivers has one."))
        .ok()?;
    eprintln!("{:?}", adapter.get_info());
    let device = adapter.request_device(&Default::default());
    Some(pollster::block_on(device).unwrap())
}

fn output(device: &wgpu::Device, bytes: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    })
}

/// Runs the recorded commands, and reads a buffer.
fn bytes_after(
    (device, queue): &(wgpu::Device, wgpu::Queue),
    mut encoder: wgpu::CommandEncoder,
    buffer: &wgpu::Buffer,
) -> Vec<u8> {
    let readable = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: buffer.size(),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    encoder.copy_buffer_to_buffer(buffer, 0, &readable, 0, buffer.size());
    queue.submit([encoder.finish()]);
    let (sender, receiver) = mpsc::channel();
    readable.map_async(wgpu::MapMode::Read, .., move |result| {
        sender.send(result).unwrap();
    });
    let wait = wgpu::PollType::Wait {
        submission_index: None,
        timeout: Some(Duration::from_secs(600)),
    };
    device.poll(wait).unwrap();
    receiver.recv().unwrap().unwrap();
    readable.get_mapped_range(..).unwrap().to_vec()
}

/// The elements as little-endian bytes, as wellspring-pseudo makes them.
fn expected(number: Number, first: u64, length: usize) -> Vec<u8> {
    let elements = Elements::new(Algorithm::ChaCha8, SEED, &PATH).unwrap();
    let words = |bytes: usize| {
        let mut out = vec![0; length * bytes];
        elements.bytes(u128::from(first) * bytes as u128, &mut out);
        out
    };
    match number {
        Number::U32 => words(4),
        Number::U64 => words(8),
        Number::F32 => {
            let mut out = vec![0f32; length];
            elements.uniform(first, &mut out).unwrap();
            out.into_iter().flat_map(f32::to_le_bytes).collect()
        }
    }
}

fn size_of_number(number: Number) -> u64 {
    if number == Number::U64 { 8 } else { 4 }
}

fn check(
    device: &(wgpu::Device, wgpu::Queue),
    pipeline: &FillPipeline,
    number: Number,
    first: u64,
    length: u64,
) {
    // Two words more, which the shader must leave alone.
    let bytes = length * size_of_number(number);
    let buffer = output(&device.0, bytes + 8);
    let mut encoder = device.0.create_command_encoder(&Default::default());
    let key = key_words(SEED, &PATH);
    let filled = pipeline.fill(&mut encoder, &key, number, first, &buffer, length);
    filled.unwrap();
    let made = bytes_after(device, encoder, &buffer);
    let (made, beyond) = made.split_at(bytes as usize);
    // Not assert_eq!, which would print all of it.
    let expected = expected(number, first, length as usize);
    assert!(made == expected, "{number:?} {first} {length}");
    assert_eq!(beyond, [0; 8], "{number:?} {first} {length}");
}

#[test]
fn any_first_index_and_length_give_the_numbers_of_the_library() {
    let Some(device) = device() else { return };
    let pipeline = FillPipeline::new(&device.0);
    for number in NUMBERS {
        for first in [0, 7, 15, 16, (1 << 32) - 5, (1 << 36) - 3, u64::MAX - 99] {
            for length in [0, 1, 2, 16, 99] {
                check(&device, &pipeline, number, first, length);
            }
        }
        // Block 2^32 lies inside.
        check(&device, &pipeline, number, (1 << 36) - 5000, 10_000);
    }
}

#[test]
fn many_numbers_are_those_of_the_library() {
    let Some(device) = device() else { return };
    let pipeline = FillPipeline::new(&device.0);
    for number in NUMBERS {
        // A piece begins inside a block.
        let piece = 5_000_001;
        for first in (0..draws()).step_by(piece) {
            let length = (draws() - first).min(piece as u64);
            check(&device, &pipeline, number, first, length);
        }
    }
}

/// Each invocation makes one number of each kind.
const OWN_SHADER: &str = include_str!("../own.wgsl");

#[test]
fn functions_in_a_shader_of_a_user_give_the_numbers_of_the_library() {
    let Some(device) = device() else { return };
    let source = wgpu::ShaderSource::Wgsl(format!("{WGSL}{OWN_SHADER}").into());
    let module = wgpu::ShaderModuleDescriptor {
        label: None,
        source,
    };
    let module = device.0.create_shader_module(module);
    let pipeline = wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    };
    let pipeline = device.0.create_compute_pipeline(&pipeline);
    let key: Vec<u8> = key_words(SEED, &PATH).map(u32::to_le_bytes).concat();
    let key = wgpu::util::BufferInitDescriptor {
        label: None,
        contents: &key,
        usage: wgpu::BufferUsages::UNIFORM,
    };
    let key = device.0.create_buffer_init(&key);
    let buffer = output(&device.0, 1024 * 16);
    let entries: Vec<_> = (0..)
        .zip([&key, &buffer])
        .map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding,
            resource: buffer.as_entire_binding(),
        })
        .collect();
    let group = device.0.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    });
    let mut encoder = device.0.create_command_encoder(&Default::default());
    let mut pass = encoder.begin_compute_pass(&Default::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(1024 / 64, 1, 1);
    drop(pass);
    let made = bytes_after(&device, encoder, &buffer);

    let [words, pairs, floats] = NUMBERS.map(|number| expected(number, 7 << 32, 1024));
    for (i, made) in made.as_chunks::<16>().0.iter().enumerate() {
        assert_eq!(made[..8], pairs[8 * i..][..8], "u64 {i}");
        assert_eq!(made[8..12], words[4 * i..][..4], "u32 {i}");
        assert_eq!(made[12..], floats[4 * i..][..4], "f32 {i}");
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let Some((device, queue)) = device() else {
        return;
    };
    let pipeline = FillPipeline::new(&device);
    let buffer = output(&device, 64);
    let not_storage = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 64,
        usage: wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    let mut fill = |number, first, buffer, length| {
        pipeline.fill(&mut encoder, &[0; 8], number, first, buffer, length)
    };
    use FillError::{NotStorage, PastTheEnd, TooLong};
    assert_eq!(fill(Number::U32, 0, &buffer, 17), Err(TooLong));
    assert_eq!(fill(Number::U64, 0, &buffer, 9), Err(TooLong));
    assert_eq!(fill(Number::U64, 0, &buffer, 1 << 63), Err(TooLong));
    assert_eq!(fill(Number::F32, u64::MAX, &buffer, 2), Err(PastTheEnd));
    assert_eq!(fill(Number::F32, 0, &not_storage, 1), Err(NotStorage));
    assert_eq!(fill(Number::F32, u64::MAX, &buffer, 1), Ok(()));
    assert_eq!(fill(Number::U64, 0, &buffer, 8), Ok(()));
    // wgpu would panic if it rejected the recorded commands.
    queue.submit([encoder.finish()]);
}
