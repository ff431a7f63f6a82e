//! The words and uniform numbers of wellspring's `Elements` on a GPU, bit for bit, by WebGPU.
//!
//! [`WGSL`] has functions for your own shaders, in any program that takes WGSL: the crate wgpu, or a browser. [`key_words`]
//! makes the key that they ask for. [`FillPipeline`] fills a buffer, for users of wgpu.
//!
//! ```no_run
//! use wellspring_wgpu::{FillPipeline, Number, key_words};
//!
//! # fn f(device: wgpu::Device, queue: wgpu::Queue, buffer: wgpu::Buffer) -> Result<(), wellspring_wgpu::FillError> {
//! let key = key_words(2026, &[3, 0, 17]);
//! let pipeline = FillPipeline::new(&device);
//! let mut encoder = device.create_command_encoder(&Default::default());
//! // Elements 7000 to 7999 of `Elements::uniform::<f32>`.
//! pipeline.fill(&mut encoder, &key, Number::F32, 7000, &buffer, 1000)?;
//! queue.submit([encoder.finish()]);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

use core::fmt;

use wellspring_pseudo::WideSeedSequence;
use wgpu::util::DeviceExt;

/// The functions, for your own shaders: put this text in front of yours.
///
/// `wellspring_u32(key, index)`, `wellspring_u64(key, index)` and `wellspring_f32(word)` make one number, and
/// `wellspring_block(key, number)` makes 16 words. All names begin with `wellspring_` or `Wellspring`, and there are no
/// bindings.
pub const WGSL: &str = include_str!("chacha8.wgsl");

/// The shader of [`FillPipeline`], behind [`WGSL`].
const FILL: &str = include_str!("fill.wgsl");

const WORKGROUP_SIZE: u32 = 64;
const BLOCK_WORDS: u64 = 16;
const WORD_BYTES: u64 = 4;

/// The most words of one fill: the shader counts them in 32 bits.
const MAX_WORDS: u64 = 1 << 31;

/// The key of a seed and a path with the algorithm ChaCha8, as a `WellspringKey` holds it.
#[must_use]
pub fn key_words(seed: u128, path: &[u32]) -> [u32; 8] {
    let root = WideSeedSequence::new(seed);
    path.iter()
        .fold(root, |parent, &key| parent.child(key))
        .generate_u32()
}

/// The numbers that an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Word i of the stream: bytes 4 i to 4 i + 3, little-endian.
    U32,
    /// Bytes 8 i to 8 i + 7 of the stream, little-endian: a `vec2<u32>` in a shader, the lower half first.
    U64,
    /// A uniform number in [0, 1), a multiple of 2^-24, as from `Elements::uniform::<f32>`.
    F32,
}

/// Fills buffers of one device.
#[derive(Clone, Debug)]
pub struct FillPipeline {
    device: wgpu::Device,
    pipeline: wgpu::ComputePipeline,
}

impl FillPipeline {
    /// Compiles the shader for a device.
    #[must_use]
    pub fn new(device: &wgpu::Device) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("wellspring"),
            source: wgpu::ShaderSource::Wgsl(format!("{WGSL}{FILL}").into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("wellspring"),
            layout: None,
            module: &module,
            entry_point: Some("wellspring_main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let device = device.clone();
        Self { device, pipeline }
    }

    /// Records a command that overwrites the start of `out`, a buffer of this device, with the elements `first` to
    /// `first + length - 1`.
    ///
    /// # Errors
    ///
    /// [`FillError`]; nothing is recorded then.
    pub fn fill(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        key: &[u32; 8],
        number: Number,
        first: u64,
        out: &wgpu::Buffer,
        length: u64,
    ) -> Result<(), FillError> {
        let number_words = if number == Number::U64 { 2 } else { 1 };
        let limits = self.device.limits();
        let words = length.checked_mul(number_words);
        let words = words.filter(|&words| words <= MAX_WORDS);
        let words = words.ok_or(FillError::TooLong)?;
        let bytes = words * WORD_BYTES;
        if bytes > out.size() || bytes > limits.max_storage_buffer_binding_size {
            return Err(FillError::TooLong);
        }
        if !out.usage().contains(wgpu::BufferUsages::STORAGE) {
            return Err(FillError::NotStorage);
        }
        if length == 0 {
            return Ok(());
        }
        let last = first.checked_add(length - 1);
        last.ok_or(FillError::PastTheEnd)?;

        let block_numbers = BLOCK_WORDS / number_words;
        let (first_block, skipped) = (
            first / block_numbers,
            (first % block_numbers * number_words),
        );
        let arguments = key.iter().copied().chain([
            first_block as u32,
            (first_block >> 32) as u32,
            skipped as u32,
            words as u32,
            (number == Number::F32).into(),
            // To a multiple of 16 bytes.
            0,
            0,
            0,
        ]);
        let arguments: Vec<u8> = arguments.flat_map(u32::to_le_bytes).collect();
        let arguments = wgpu::util::BufferInitDescriptor {
            label: Some("wellspring"),
            contents: &arguments,
            usage: wgpu::BufferUsages::UNIFORM,
        };
        let arguments = self.device.create_buffer_init(&arguments);
        let out = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: out,
            offset: 0,
            size: wgpu::BufferSize::new(bytes),
        });
        let resources = [arguments.as_entire_binding(), out];
        let entries: Vec<_> = (0..)
            .zip(resources)
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
            .collect();
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("wellspring"),
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &entries,
        });

        let blocks = (skipped + words).div_ceil(BLOCK_WORDS);
        // An invocation goes on with later blocks where there are fewer invocations than blocks.
        let groups = blocks.div_ceil(WORKGROUP_SIZE.into());
        let groups = groups.min(limits.max_compute_workgroups_per_dimension.into());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(groups as u32, 1, 1);
        Ok(())
    }
}

/// The reason why a buffer cannot be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillError {
    /// The last index is 2^64 or above.
    PastTheEnd,
    /// The buffer, a binding of this device, or 8 GiB hold fewer elements.
    TooLong,
    /// The usages of the buffer lack `STORAGE`.
    NotStorage,
}

impl fmt::Display for FillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PastTheEnd => "the last index is above 2^64 - 1",
            Self::TooLong => "the buffer, a binding of this device, or 8 GiB hold fewer elements",
            Self::NotStorage => "the usages of the buffer lack STORAGE",
        })
    }
}

impl core::error::Error for FillError {}
