// Translates lines with a model that `fovea export --format onnx` wrote, in onnxruntime, by greedy search.
//
//   node translate.mjs MODEL < lines           the translations, one a line
//   node translate.mjs MODEL --align < lines   and for each token the source token that it attended to most
//
// The model's source vocabulary is a SentencePiece model or a list of characters or words; so is its target vocabulary.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ort from 'onnxruntime-node';

const kMostSteps = 200;
const kBatch = 16; // sentences that are decoded at the same time

// ---- vocabularies ---------------------------------------------------------------------------------------------------

async function loadVocabulary(folder, { file, kind }) {
  const path = join(folder, file);
  if (file.endsWith('.spm')) {
    const { default: sentencepiece } = await import('sentencepiece-js');
    const processor = new sentencepiece.SentencePieceProcessor();
    await processor.load(path);
    return {
      encode: (text) => Array.from(processor.encodeIds(text)),
      decode: (ids) => processor.decodeIds(ids),
      piece: (id) => processor.decodeIds([id]),
    };
  }
  // A list: a line of description, then the entries in the order of their ids, which start after the four marks.
  const unescape = (line) => line.replace(/\\([\\nrt])/g, (_, c) => ({ n: '\n', r: '\r', t: '\t' })[c] ?? c);
  const entries = readFileSync(path, 'utf8').split('\n').slice(1, -1).map(unescape);
  const pieces = ['', '\u2047', '', '', ...entries];
  const ids = new Map(pieces.map((piece, id) => [piece, id]).slice(4));
  const units = (text) => (kind === 'character' ? [...text] : text.split(/\s+/).filter(Boolean));
  return {
    encode: (text) => units(text).map((unit) => ids.get(unit) ?? 1),
    decode: (all) => all.map((id) => pieces[id]).join(kind === 'character' ? '' : ' '),
    piece: (id) => pieces[id],
  };
}

// ---- tensors --------------------------------------------------------------------------------------------------------

const int64 = (values, shape) => new ort.Tensor('int64', BigInt64Array.from(values, BigInt), shape);

// Zeros in the shape of an input; `past` has the size 0 before the first step.
function zeros(port, sizes) {
  const shape = port.shape.map((size) => sizes[size] ?? size);
  return new ort.Tensor('float32', new Float32Array(shape.reduce((a, b) => a * b, 1)), shape);
}

// The index of the largest value of each row, except those that are banned.
function argmax(tensor, banned = []) {
  const [rows, columns] = [tensor.dims[0], tensor.dims.at(-1)];
  return Array.from({ length: rows }, (_, b) => {
    const row = tensor.data.slice(b * columns, (b + 1) * columns);
    for (const id of banned) row[id] = -Infinity;
    return row.reduce((best, value, i) => (value > row[best] ? i : best), 0);
  });
}

// The mean over the layers and heads, [B,L,H,S] -> [B,S].
function meanOverHeads(tensor) {
  const [batch, layers, heads, source] = tensor.dims;
  const mean = new Float32Array(batch * source);
  tensor.data.forEach((value, i) => {
    const b = Math.floor(i / (layers * heads * source));
    mean[b * source + (i % source)] += value / (layers * heads);
  });
  return { dims: [batch, source], data: mean };
}

// ---- decoding -------------------------------------------------------------------------------------------------------

// Source ids as the model was trained to read them.
function sourceIds(model, vocabulary, text) {
  const ids = vocabulary.encode(text);
  if (model.source.longest > 0) ids.splice(model.source.longest);
  if (model.source.reversed) ids.reverse();
  return model.source.end ? [...ids, model.ids.end] : ids;
}

// One batch: for each sentence its target ids and, for each of them, the source position that it attended to most.
async function decode({ model, encoder, step }, sentences) {
  const batch = sentences.length;
  const source = Math.max(...sentences.map((ids) => ids.length));
  const padded = sentences.flatMap((ids) => [...ids, ...Array(source - ids.length).fill(model.ids.pad)]);
  const lengths = int64(sentences.map((ids) => ids.length), [batch]);
  const ids = int64(padded, [batch, source]);
  const encoded = await encoder.run({ source: ids, lengths });

  const inputs = Object.fromEntries(model.graphs.decoder_step.inputs.map((port) => [port.name, port]));
  const feeds = { lengths, copied: ids, extended: int64([0], [1]) }; // the last two are read by a model that copies
  for (const name of model.steps.memory) feeds[name] = encoded[name];
  for (const { input, first } of model.steps.states)
    feeds[input] = first === 0 ? zeros(inputs[input], { batch, source, past: 0 }) : encoded[first];

  const results = sentences.map(() => ({ ids: [], attended: [], ended: false }));
  let tokens = Array(batch).fill(model.ids.begin);
  const most = Math.min(kMostSteps, model.target.longest || kMostSteps);
  for (let t = 0; t < most && !results.every((each) => each.ended); ++t) {
    feeds.tokens = int64(tokens, [batch]);
    feeds.step = int64([t], [1]);
    const read = Object.fromEntries(Object.keys(inputs).map((name) => [name, feeds[name]]));
    const output = await step.run(read);
    tokens = argmax(output.logits, model.steps.banned);
    const attended = output.cross_attention ? argmax(meanOverHeads(output.cross_attention)) : [];
    results.forEach((result, b) => {
      result.ended ||= tokens[b] === model.ids.end;
      if (result.ended) return;
      result.ids.push(tokens[b]);
      result.attended.push(attended[b]);
    });
    for (const { input, output: name } of model.steps.states) feeds[input] = output[name];
  }
  return results;
}

async function main() {
  const [folder, flag] = process.argv.slice(2);
  const model = JSON.parse(readFileSync(join(folder, 'model.json'), 'utf8'));
  const load = (graph) => ort.InferenceSession.create(join(folder, model.graphs[graph].file));
  const graphs = { model, encoder: await load('encoder'), step: await load('decoder_step') };
  const source = await loadVocabulary(folder, model.vocabularies.source);
  const target = await loadVocabulary(folder, model.vocabularies.target);
  const lines = readFileSync(0, 'utf8').replace(/\n$/, '').split('\n');
  for (let first = 0; first < lines.length; first += kBatch) {
    const sentences = lines.slice(first, first + kBatch).map((line) => sourceIds(model, source, line));
    const results = await decode(graphs, sentences);
    results.forEach(({ ids, attended }, b) => {
      console.log(target.decode(ids));
      if (flag !== '--align') return;
      const pieces = sentences[b].map((id) => (id === model.ids.end ? '</s>' : source.piece(id)));
      ids.forEach((id, t) => console.log(`  ${target.piece(id)}  ${pieces[attended[t]]}`));
    });
  }
}

await main();
