// The attention record: the attention of a model while it produced one output, as data with a schema. It is taken from
// the decoding that produced the output. docs/record.md describes the file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

constexpr int64_t kRecordVersion = 1;

enum class AttentionKind {
  kEncoderSelf,
  kDecoderSelf,
  kCross,
  kCopy,               // a pointer head's distribution over the source tokens
  kPooling,            // a classifier's attention pooling; a row for each hop
  kPassageToQuestion,  // reading comprehension: the source is the passage and the target the question
  kQuestionToPassage,
};

// What the rows or columns of an attention are. The inputs of a decoder are the begin mark and every target token but
// the last.
enum class AttentionAxis { kSource, kTarget, kTargetInputs };
struct AttentionKindEntry {
  AttentionKind kind;
  std::string_view name;
  AttentionAxis rows, columns;  // an attention with row labels has these for its rows
};
std::span<const AttentionKindEntry> attention_kinds();  // in the order of AttentionKind
std::string_view name_of(AttentionKind kind);
const AttentionKindEntry* find_attention_kind(std::string_view name);  // null if there is none of this name

// A token and its characters [begin, end) in the text, without a space before it. An end mark and a piece that is only
// a space have no characters: begin = end.
struct RecordToken {
  std::string text;
  int64_t begin = 0, end = 0;
  bool starts_word = true;  // in scripts without spaces every token does
  bool mark = false;        // the end or the beginning of a sentence
  bool unknown = false;     // the model's vocabulary does not have it
};

// The log-probability of a target token, and its alternatives.
struct RecordStep {
  struct Alternative {
    std::string text;
    double log_probability = 0;
  };
  double log_probability = 0;
  std::vector<Alternative> alternatives;   // likeliest first; includes the chosen token if it is among the likeliest
  std::optional<double> copy_probability;  // of a model that copies or generates
};

// The layers and heads with the lowest alignment error rate, if `fovea evaluate --alignment --store-best` measured it.
struct BestHeads {
  std::string heads;            // "one", "mean", "max" or "rollout"; empty: not measured
  int64_t layer = 0, head = 0;  // from 1; 0: all of them
  std::string step;             // "input": the step after a token aligns it; otherwise the one that predicted it
};

// All layers and heads of one kind of attention. Row t of cross-attention belongs to the step that predicted target
// token t. Row t of decoder self-attention is the same step, and its columns are the tokens before: the begin mark,
// then target tokens 0, 1 ..., so column j + 1 is target token j. Rows and columns of encoder self-attention are source
// tokens. Rows of pooling are hops over the source tokens.
struct RecordedAttention {
  std::string kind;       // a name of attention_kinds()
  std::string mechanism;  // for people: "additive, global, soft"
  std::string scope, selection;
  int64_t model = 0;  // index in an ensemble
  int64_t layers = 1, heads = 1, rows = 0, columns = 0;
  std::vector<float> weights;  // [layer, head, row, column]; a masked cell is NaN, not zero
  std::vector<float> scores;   // of the same shape, before softmax, sparsemax or argmax; empty unless captured
  int64_t window = 0;          // local scopes: cells further than this from the centre are masked
  std::vector<float> centers;  // local-p: the centres, [layer, head, row], in columns
  BestHeads best;
  std::vector<std::string> row_labels;  // of rows that are no tokens, for instance "hop 1"; otherwise empty
  bool sentinel = false;  // pictures: a last column after the cells, the weight of no place (Lu et al. 2017)
  std::string reduction;  // "cross attention, layer 2": which part of the model's attention this is; empty: all of it

  const float* row(int64_t layer, int64_t head, int64_t t) const {
    return weights.data() + ((layer * heads + head) * rows + t) * columns;
  }
};

// The output of a classifier.
struct ClassProbability {
  std::string label;
  double probability = 0;
};

// The output of reading comprehension: the characters [begin, end) of the source, which is the passage.
struct RecordAnswer {
  std::string text;
  int64_t begin = 0, end = 0;
  double probability = 0;
};

// The picture that a model read. Attention over it has a column for each cell of a grid of rows x columns over the
// whole picture, row by row from the upper left corner.
struct RecordImage {
  static constexpr int64_t kMaxSide = 512;  // pixels of the JPEG

  std::string name;               // of the file
  int64_t width = 0, height = 0;  // of the picture; the JPEG may be smaller
  int64_t rows = 0, columns = 0;
  std::string jpeg;  // the bytes of the file to show

  int64_t cells() const { return rows * columns; }
};

struct AttentionRecord {
  std::string task;          // as in a recipe; empty in records of earlier versions, which are text to text
  int64_t line = 0;          // of the input, from 1; 0 when there is none
  int64_t rank = 1;          // among the candidates for the line, 1 for the best
  std::string architecture;  // "bahdanau"
  std::string search;        // "greedy", "beam 5", "sampled", "forced"
  std::string source_text, target_text;
  std::vector<RecordToken> source, target;
  std::optional<RecordImage> image;  // instead of a source text
  std::vector<RecordStep> steps;     // of each target token; empty if the target was not predicted
  double score = 0, log_probability = 0;
  bool ended = true;                      // with an end mark, not at the maximum length
  bool truncated = false;                 // the source was longer than the model reads
  std::vector<ClassProbability> classes;  // likeliest first
  std::optional<RecordAnswer> answer;
  std::vector<RecordedAttention> attentions;

  bool is_empty() const { return source.empty() && !image; }  // of an empty line, which nothing was read of
};

}  // namespace fovea
