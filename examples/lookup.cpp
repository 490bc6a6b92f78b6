// Learns to look a value up by its key with attention, and draws the attention weights while the loss falls.
//
// A sentence is a list of key=value pairs in random order; the question is one of its keys. Nothing tells
// the model that the question and the keys have to match: the two embeddings learn to agree, because only
// the value at the right position explains the answer.
#include <fmt/format.h>
#include <fovea/nn/layers.h>
#include <fovea/train/optimiser.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <thread>

using namespace fovea;

constexpr int64_t kPairs = 8, kBatch = 32, kSymbols = 16, kDepth = 32;

struct Batch {
  Tensor keys, values, questions, answers;  // [S,B], [S,B], [T,B], [T,B]: every key is asked for once
};

Batch draw_batch(Random& random) {
  std::vector<int32_t> columns[4];
  for (auto& column : columns) column.resize(kPairs * kBatch);
  for (int64_t b = 0; b < kBatch; ++b) {
    std::vector<int32_t> symbols(kSymbols), order(kPairs);
    std::iota(symbols.begin(), symbols.end(), 0);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = 0; i < kPairs; ++i) std::swap(symbols[i], symbols[i + random.below(kSymbols - i)]);
    for (size_t i = 0; i < kPairs; ++i) std::swap(order[i], order[i + random.below(kPairs - i)]);
    for (size_t i = 0; i < kPairs; ++i) columns[1][i * kBatch + b] = static_cast<int32_t>(random.below(kSymbols));
    for (size_t i = 0; i < kPairs; ++i) {
      columns[0][i * kBatch + b] = symbols[i];
      columns[2][i * kBatch + b] = symbols[static_cast<size_t>(order[i])];
      columns[3][i * kBatch + b] = columns[1][static_cast<size_t>(order[i]) * kBatch + b];
    }
  }
  const auto tensor = [](const std::vector<int32_t>& x) { return from_host(x, {kPairs, kBatch}, Device::cpu()); };
  return {tensor(columns[0]), tensor(columns[1]), tensor(columns[2]), tensor(columns[3])};
}

// The weights of the batch's first sentence: a row per question, a column per pair.
void draw_weights(const Batch& batch, const Tensor& weights) {
  const char* shades[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  const auto at = [](const Tensor& x, int64_t i) { return x.data<int32_t>()[i * kBatch]; };
  fmt::print("\n         ");
  for (int64_t s = 0; s < kPairs; ++s) fmt::print("{:2}={:c} ", at(batch.keys, s), 'a' + at(batch.values, s));
  for (int64_t t = 0; t < kPairs; ++t) {
    fmt::print("\n  {:2} → {:c} ", at(batch.questions, t), 'a' + at(batch.answers, t));
    for (int64_t s = 0; s < kPairs; ++s) {
      const float w = weights.data<float>()[t * kPairs + s];
      fmt::print("  {} ", shades[static_cast<int>(std::lround(4.0f * std::sqrt(w)))]);
    }
  }
  fmt::print("\n");
  std::fflush(stdout);
}

int main() {
  Parameters parameters(Device::cpu());
  const Embedding question(parameters, "question", kSymbols, kDepth), key(parameters, "key", kSymbols, kDepth),
      value(parameters, "value", kSymbols, kDepth);
  const Linear answer(parameters, "answer", kDepth, kSymbols);
  parameters.allocate(/*seed=*/1);
  Optimiser optimiser(parameters, {.clip_norm = 1.0f});
  Tape tape(Device::cpu());
  Random random(2);
  const bool terminal = isatty(STDOUT_FILENO) != 0;

  fmt::print("attention learns to look up values by their keys ({} parameters)\n", parameters.count());
  for (int step = 0; step <= 150; ++step) {
    const Batch batch = draw_batch(random);
    tape.reset();
    const TapeScope tape_scope(tape);
    const Var query = question(batch.questions);                            // [T,B,D]
    const Var weights = softmax(dot_score(query, key(batch.keys)));         // [B,1,T,S]
    const Var logits = answer(weighted_sum(weights, value(batch.values)));  // [T,B,V]
    const Var loss = mean(cross_entropy(logits, batch.answers));
    if (step % (terminal ? 3 : 50) == 0) {
      if (terminal && step > 0) fmt::print("\033[{}A", kPairs + 4);
      fmt::print("\nstep {:3}   loss {:.4f}\n", step, loss.value().data<float>()[0]);
      draw_weights(batch, weights.value());
      if (terminal) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    tape.backward(loss);
    optimiser.step(0.005f);
  }
}
