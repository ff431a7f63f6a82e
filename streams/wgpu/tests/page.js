// Runs own.wgsl in a browser, and sends its numbers. The test puts `const code, key` in front: the shader and eight words.

const device = await (await navigator.gpu.requestAdapter()).requestDevice();
const module = device.createShaderModule({ code });
const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module } });
const { UNIFORM, STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
const bytes = 16 * 1024;
const keyBuffer = device.createBuffer({ size: 32, usage: UNIFORM | COPY_DST });
const numbers = device.createBuffer({ size: bytes, usage: STORAGE | COPY_SRC });
const readable = device.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST });
device.queue.writeBuffer(keyBuffer, 0, new Uint32Array(key));
const entries = [keyBuffer, numbers].map((buffer, binding) => ({ binding, resource: { buffer } }));
const encoder = device.createCommandEncoder();
const pass = encoder.beginComputePass();
pass.setPipeline(pipeline);
pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
pass.dispatchWorkgroups(1024 / 64);
pass.end();
encoder.copyBufferToBuffer(numbers, 0, readable, 0, bytes);
device.queue.submit([encoder.finish()]);
await readable.mapAsync(GPUMapMode.READ);
const made = new Uint32Array(readable.getMappedRange());
await fetch('/', { method: 'POST', body: made.join(' ') });
