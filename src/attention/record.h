// The attention record: what a model attended to while it wrote one output, as data with a schema. Made by the
// decode that produced the output; read by pictures, alignment and diagnostics. docs/record.md describes the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fovea {

constexpr int64_t kRecordVersion = 1;

// A token and where it stands: characters [begin, end) of its text, without a space before it. A mark (the end of a
// sentence) and a piece that is only a space have none: begin = end.
struct RecordToken {
  std::string text;
  int64_t begin = 0, end = 0;
  bool starts_word = true;  // in scripts without spaces every token does
  bool mark = false;        // the end or the beginning of a sentence
};

// What else might have been said, and how likely what was said was.
struct RecordStep {
  struct Alternative {
    std::string text;
    double log_probability = 0;
  };
  double log_probability = 0;
  std::vector<Alternative> alternatives;  // likeliest first, the one taken among them if it was likely enough
};

// The layers and heads that aligned words best where `fovea evaluate --alignment --store-best` measured it.
struct BestHeads {
  std::string heads;            // "one", "mean", "max" or "rollout"; empty: not measured
  int64_t layer = 0, head = 0;  // from 1; 0: all of them
};

// All layers and heads of one attention of the model. Row t of the cross attention is the look that led to target
// token t. In the decoder's self attention row t is the same step, and its columns are what had been written: the
// begin mark, then target tokens 0, 1 ...; column j + 1 is target token j. In the encoder's both are source tokens.
struct RecordedAttention {
  std::string kind;       // "cross", "encoder-self", "decoder-self"
  std::string mechanism;  // for people: "additive, global, soft"
  std::string scope, selection;
  int64_t model = 0;  // of an ensemble
  int64_t layers = 1, heads = 1, rows = 0, columns = 0;
  std::vector<float> weights;  // [layer, head, row, column]; a cell that was masked is NaN: absent, not zero
  std::vector<float> scores;   // of the same shape: what the softmax (or sparsemax, or argmax) took; empty unless kept
  int64_t window = 0;          // local scopes: cells further than this from the centre are absent
  std::vector<float> centers;  // ... and the centres, [layer, head, row], in columns
  BestHeads best;
  std::string reduction;  // "cross attention, layer 2": what was selected of the model's; empty: everything

  const float* row(int64_t layer, int64_t head, int64_t t) const {
    return weights.data() + ((layer * heads + head) * rows + t) * columns;
  }
};

struct AttentionRecord {
  int64_t line = 0;          // of the input, from 1; 0 when there is none
  int64_t rank = 1;          // among the candidates for the line, 1 for the best
  std::string architecture;  // "bahdanau"
  std::string search;        // "greedy", "beam 5", "sampled", "forced"
  std::string source_text, target_text;
  std::vector<RecordToken> source, target;
  std::vector<RecordStep> steps;  // of each target token
  double score = 0, log_probability = 0;
  bool ended = true;  // by itself, not at the limit of its length
  bool cut = false;   // the source was longer than what was read
  std::vector<RecordedAttention> attentions;
};

}  // namespace fovea
