// The feature map of MobileNetEdgeTPU with onnxruntime, as a worker of bench/mobilenet (bench/worker.h):
//   node mobilenet.mjs FOLDER WEIGHTS PICTURES MAPS THREADS
// FOLDER: its node_modules has onnxruntime-node; bench/mobilenet.cpp says how it is installed. WEIGHTS: the safetensors file of the network. PICTURES: normalised pictures, f32 [B,224,224,3]. Their feature maps,
// f32 [B,7,7,1280], are written to MAPS before anything is timed. The ONNX file is written by this program, with all
// that helps onnxruntime: constant shapes, explicit padding and no layer after the feature map.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

const [folder, weightsPath, picturesPath, mapsPath, threads] = process.argv.slice(2);
const require = createRequire(path.resolve(folder, 'package.json'));
const ort = require('onnxruntime-node');
const SIZE = 224, PIXELS = SIZE * SIZE;

// ---- protobuf: a message is an array of [field, value] ------------------------------------------------------------

function varint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
  return Buffer.from([...bytes, value]);
}
function encode(fields) {
  return Buffer.concat(fields.flatMap(([field, value]) => {
    if (typeof value === 'number') return [varint(field * 8), varint(value)];
    const bytes = Array.isArray(value) ? encode(value) : Buffer.from(value);
    return [varint(field * 8 + 2), varint(bytes.length), bytes];
  }));
}

const FLOAT = 1, INTS = 7, INT = 2;
const attribute = (name, value) =>
    [5, [[1, name], ...[value].flat().map(v => [Array.isArray(value) ? 8 : 3, v]), [20, Array.isArray(value) ? INTS : INT]]];
const node = (op, inputs, output, attributes = {}) =>
    [1, [...inputs.map(i => [1, i]), [2, output], [3, output], [4, op],
         ...Object.entries(attributes).map(([name, value]) => attribute(name, value))]];
const initializer = (name, {shape, data}) => [5, [...shape.map(d => [1, d]), [2, FLOAT], [8, name], [9, data]]];
const tensor = (name, shape) => [[1, name], [2, [[1, [[1, FLOAT], [2, shape.map(d => [1, [[1, d]]])]]]]]];

// ---- the network --------------------------------------------------------------------------------------------------

function readSafetensors(file) {
  const bytes = fs.readFileSync(file), length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length)), tensors = {};
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    if (entry.dtype !== 'F32') throw new Error(`${name}: expected F32, got ${entry.dtype}`);
    const [begin, end] = entry.data_offsets;
    tensors[name] = {shape: entry.shape, data: bytes.subarray(8 + length + begin, 8 + length + end)};
  }
  return tensors;
}

// TensorFlow's SAME padding of a square, as ONNX's pads (top, left, bottom, right).
function same(pixels, window, stride) {
  const total = Math.max((Math.ceil(pixels / stride) - 1) * stride + window - pixels, 0), before = total >> 1;
  return [before, before, total - before, total - before];
}

const STRIDED = new Set([1, 5, 9, 17]), WITHOUT_RESIDUAL = new Set([0, 1, 5, 9, 13, 17, 21]), BLOCKS = 22;

function network(weights) {
  const graph = [];
  let pixels = SIZE;
  const conv = (name, input, stride, relu) => {
    const {shape} = weights[`${name}.weight`], group = shape[1] === 1 && name.endsWith('depthwise') ? shape[0] : 1;
    for (const part of ['weight', 'bias']) graph.push(initializer(`${name}.${part}`, weights[`${name}.${part}`]));
    graph.push(node('Conv', [input, `${name}.weight`, `${name}.bias`], name, {
      group, kernel_shape: [shape[2], shape[3]], strides: [stride, stride], dilations: [1, 1],
      pads: same(pixels, shape[2], stride)}));
    pixels = Math.ceil(pixels / stride);
    if (!relu) return name;
    graph.push(node('Relu', [name], `${name}.relu`));
    return `${name}.relu`;
  };
  let x = conv('stem', 'pictures', 2, true);
  for (let i = 0; i < BLOCKS; ++i) {
    const name = `blocks.${i}`, stride = STRIDED.has(i) ? 2 : 1, depthwise = `${name}.depthwise.weight` in weights;
    let y = x;
    if (`${name}.expand.weight` in weights) y = conv(`${name}.expand`, y, depthwise ? 1 : stride, true);
    if (depthwise) y = conv(`${name}.depthwise`, y, stride, true);
    y = conv(`${name}.project`, y, 1, false);
    if (!WITHOUT_RESIDUAL.has(i)) {
      graph.push(node('Add', [y, x], `${name}.add`));
      y = `${name}.add`;
    }
    x = y;
  }
  const map = conv('head', x, 1, true);
  graph.push([2, 'mobilenet-edgetpu'], [11, tensor('pictures', [1, 3, SIZE, SIZE])], [12, tensor(map, [1, 1280, 7, 7])]);
  return {map, model: encode([[1, 8], [7, graph], [8, [[1, ''], [2, 17]]]])};
}

// ---- the worker ---------------------------------------------------------------------------------------------------

// [channels, places] <-> [places, channels]
function transposed(from, rows, columns) {
  const to = new Float32Array(from.length);
  for (let r = 0; r < rows; ++r) for (let c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
  return to;
}

const {map, model} = network(readSafetensors(weightsPath));
const session = await ort.InferenceSession.create(new Uint8Array(model), {
  executionProviders: ['cpu'], graphOptimizationLevel: 'all', executionMode: 'sequential',
  intraOpNumThreads: Number(threads), interOpNumThreads: 1});

const bytes = fs.readFileSync(picturesPath);
const all = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4), inputs = [];
for (let first = 0; first < all.length; first += PIXELS * 3)
  inputs.push(new ort.Tensor('float32', transposed(all.subarray(first, first + PIXELS * 3), PIXELS, 3), [1, 3, SIZE, SIZE]));
const maps = [];
for (const pictures of inputs) {
  const found = (await session.run({pictures}, [map]))[map];
  maps.push(Buffer.from(transposed(found.data, 1280, 49).buffer));
}
fs.writeFileSync(mapsPath, Buffer.concat(maps));

console.log(`onnxruntime ${require('onnxruntime-node/package.json').version}`);
const memory = () => Number(/VmHWM:\s*(\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
for await (const line of readline.createInterface({input: process.stdin})) {
  const [what, calls] = line.split(' ');
  if (what === 'memory') {
    console.log(`${memory()} 0`);
    continue;
  }
  const begin = process.hrtime.bigint();
  for (let call = 0; call < Number(calls); ++call) await session.run({pictures: inputs[0]}, [map]);
  console.log(Number(process.hrtime.bigint() - begin) / 1e9 / Number(calls));
}
