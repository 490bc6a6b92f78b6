// Runs exported models in onnxruntime and compares every output with what our own engine computed.
//
// usage: node check_runtime.mjs CASES FOLDER    CASES is the program onnx_cases; FOLDER is for files
//
// onnxruntime-node is a package of FOLDER (check_runtime.sh installs it).
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const kTolerance = 1e-4;
const [program, folder] = process.argv.slice(2);

const ort = createRequire(join(resolve(folder), 'package.json'))('onnxruntime-node');

const kArrays = { float32: Float32Array, int64: BigInt64Array, uint8: Uint8Array };
function tensor({ type, shape, data }) {
  const values = type === 'int64' ? data.map(BigInt) : data;
  return new ort.Tensor(type, kArrays[type].from(values), shape);
}
const tensors = (inputs) => Object.fromEntries(Object.entries(inputs).map(([name, x]) => [name, tensor(x)]));

// The largest difference of two tensors, relative to values above 1. An error that names the output if their shapes
// differ.
function difference(name, got, expected) {
  if (!got) throw new Error(`${name}: there is no such output`);
  if (got.dims.join() !== expected.shape.join())
    throw new Error(`${name}: expected the shape ${expected.shape}, got ${got.dims}`);
  let largest = 0;
  expected.data.forEach((value, i) => {
    if (value === null) return;
    const distance = Math.abs(value - got.data[i]) / Math.max(1, Math.abs(value));
    if (!(distance <= largest)) largest = distance; // NaN is never smaller
  });
  return largest;
}

function compare(where, got, expected) {
  let largest = 0;
  for (const [name, value] of Object.entries(expected)) {
    const distance = difference(`${where} ${name}`, got[name], value);
    if (!(distance <= kTolerance)) throw new Error(`${where} ${name}: a value differs by ${distance}`);
    largest = Math.max(largest, distance);
  }
  return largest;
}

// The states before the first step: outputs of the encoder, or zeros in which the past is empty.
function firstStates(model, encoded, batch, source) {
  const states = {};
  for (const { input, first } of model.steps.states) {
    if (first !== 0) {
      states[input] = encoded[first];
      continue;
    }
    const { shape } = model.graphs.decoder_step.inputs.find((port) => port.name === input);
    const named = { batch, source, past: 0 };
    const sizes = shape.map((size) => named[size] ?? size);
    states[input] = new ort.Tensor('float32', new Float32Array(sizes.reduce((a, b) => a * b, 1)), sizes);
  }
  return states;
}

const options = { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3 };
async function check(name) {
  const read = (file) => JSON.parse(readFileSync(join(folder, 'cases', name, file), 'utf8'));
  const load = (graph) => ort.InferenceSession.create(join(folder, 'cases', name, model.graphs[graph].file), options);
  const model = read('model.json');
  const run = read('run.json');
  const inputs = tensors(run.inputs);
  const first = await load(Object.keys(model.graphs)[0]);
  const encoded = await first.run(inputs);
  let largest = compare('encoder', encoded, run.expected);
  if (!run.steps) return largest;
  const step = await load('decoder_step');
  const wanted = new Set(step.inputNames);
  const fixed = Object.fromEntries(model.steps.memory.map((each) => [each, encoded[each]]));
  let states = firstStates(model, encoded, run.steps[0].inputs.tokens.shape[0], run.inputs.source?.shape[1]);
  for (const [t, { inputs: now, expected }] of run.steps.entries()) {
    const all = { ...inputs, ...fixed, ...states, ...tensors(now) };
    const feeds = Object.fromEntries(Object.entries(all).filter(([each]) => wanted.has(each)));
    const got = await step.run(feeds);
    largest = Math.max(largest, compare(`step ${t}`, got, expected));
    states = Object.fromEntries(model.steps.states.map(({ input, output }) => [input, got[output]]));
  }
  return largest;
}

execFileSync(program, [join(folder, 'cases')], { stdio: 'inherit' });
const names = JSON.parse(readFileSync(join(folder, 'cases/cases.json'), 'utf8'));
let failures = 0;
let largest = 0;
for (const name of names) {
  try {
    largest = Math.max(largest, await check(name));
  } catch (error) {
    console.log(`${name}: ${error.message}`);
    failures += 1;
  }
}
console.log(`${names.length - failures} of ${names.length} models agree; the largest difference is ${largest.toExponential(1)}`);
process.exit(failures === 0 ? 0 : 1);
