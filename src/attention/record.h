// The attention record: the attention of a model while it produced one output, as data with a schema. It is taken from
// the decoding that produced the output. docs/record.md describes the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fovea {

constexpr int64_t kRecordVersion = 1;

// A token and its characters [begin, end) in the text, without a space before it. An end mark and a piece that is only
// a space have no characters: begin = end.
struct RecordToken {
  std::string text;
  int64_t begin = 0, end = 0;
  bool starts_word = true;  // in scripts without spaces every token does
  bool mark = false;        // the end or the beginning of a sentence
};

// The log-probability of a target token, and its alternatives.
struct RecordStep {
  struct Alternative {
    std::string text;
    double log_probability = 0;
  };
  double log_probability = 0;
  std::vector<Alternative> alternatives;  // likeliest first; includes the chosen token if it is among the likeliest
};

// The layers and heads with the lowest alignment error rate, if `fovea evaluate --alignment --store-best` measured it.
struct BestHeads {
  std::string heads;            // "one", "mean", "max" or "rollout"; empty: not measured
  int64_t layer = 0, head = 0;  // from 1; 0: all of them
};

// All layers and heads of one kind of attention. Row t of cross-attention belongs to the step that predicted target
// token t. Row t of decoder self-attention is the same step, and its columns are the tokens before: the begin mark,
// then target tokens 0, 1 ..., so column j + 1 is target token j. Rows and columns of encoder self-attention are source
// tokens.
struct RecordedAttention {
  std::string kind;       // "cross", "encoder-self", "decoder-self"
  std::string mechanism;  // for people: "additive, global, soft"
  std::string scope, selection;
  int64_t model = 0;  // index in an ensemble
  int64_t layers = 1, heads = 1, rows = 0, columns = 0;
  std::vector<float> weights;  // [layer, head, row, column]; a masked cell is NaN, not zero
  std::vector<float> scores;   // of the same shape, before softmax, sparsemax or argmax; empty unless captured
  int64_t window = 0;          // local scopes: cells further than this from the centre are masked
  std::vector<float> centers;  // local-p: the centres, [layer, head, row], in columns
  BestHeads best;
  std::string reduction;  // "cross attention, layer 2": which part of the model's attention this is; empty: all of it

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
  bool ended = true;       // with an end mark, not at the maximum length
  bool truncated = false;  // the source was longer than the model reads
  std::vector<RecordedAttention> attentions;
};

}  // namespace fovea
