// An encoder-decoder, seen from outside: a target that is given is scored in one go (training, forced
// decoding); a target that is sought is decoded step by step. Search, training and records are written
// over this, once for every architecture.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "models/config.h"

namespace fovea {

// Sentences of one batch. Time-major, padded with anything valid past their lengths.
struct Source {
  Tensor ids;      // i32 [S,B]
  Tensor lengths;  // i32 [B]
};

// The weights of one attention of the model.
struct AttentionTrace {
  enum class Kind { kEncoderSelf, kDecoderSelf, kCross };
  Kind kind;
  int64_t layer;
  Var weights;  // [B,H,T,S]; in a step of decoding T counts the beams
  Var center;   // local-p: where the windows stand, [T,B,H]
  Var scores;   // like the weights, which were made of them; if they were asked for
};

// What a model keeps of its attentions.
struct Capture {
  bool weights, scores;  // scores come with weights
  Capture(bool of_weights = false, bool of_scores = false) : weights(of_weights || of_scores), scores(of_scores) {}
};

// An edit of one of the model's attentions, or of several alike.
struct WeightEdit {
  AttentionTrace::Kind kind = AttentionTrace::Kind::kCross;
  int64_t layer = AttentionEdit::kAll;
  AttentionEdit edit;
};
// Those that are about one attention.
std::vector<AttentionEdit> edits_of(std::span<const WeightEdit> edits, AttentionTrace::Kind kind, int64_t layer);

// What came of a given target.
struct TeacherForced {
  Var logits;                           // [T,B,V]
  Var selection_log_prob, entropy;      // [T,B]: hard selection that learns by REINFORCE
  Var coverage_loss;                    // [T,B]: with coverage, sum of min(weights, coverage)
  std::vector<AttentionTrace> weights;  // if they were asked for
};

// A batch of B sentences on their way, K beams each. Row k*B+b is beam k of sentence b. What one call makes
// is read until the next but one: a caller may take memory from two arenas in turn. What keep() makes stays.
class DecoderState {
 public:
  virtual ~DecoderState() = default;
  // Another that goes on from here; what is in memory is shared until one of them moves.
  virtual std::unique_ptr<DecoderState> clone() const = 0;
  // The words last chosen, i32 [K,B] -> what the next ones may be, [K,B,V].
  virtual Var step(const Tensor& words) = 0;
  // Beam k of sentence b goes on from row rows[k,b]. i32 [K,B].
  virtual void reorder(const Tensor& rows) = 0;
  // Only these sentences go on, in this order: i32 [B'] of 0..B-1.
  virtual void select_sentences(const Tensor& sentences) = 0;
  // The weights of the last step, if the decoder was asked to keep them.
  virtual std::vector<AttentionTrace> weights() const = 0;
};

struct DecodeOptions {
  int64_t beams = 1;
  int64_t longest = 256;  // steps at most
  Capture capture;
  std::vector<WeightEdit> edits;
};

class Model {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  // No other model of the process has had it.
  uint64_t serial() const { return serial_; }
  // target [T,B]: the words before each one asked for, beginning with the begin mark.
  virtual TeacherForced teacher_force(const Source& source, const Tensor& target, Capture capture = {},
                                      std::span<const WeightEdit> edits = {}) const = 0;
  virtual std::unique_ptr<DecoderState> decode(const Source& source, const DecodeOptions& options) const = 0;

 protected:
  Model();

 private:
  uint64_t serial_;
};

struct VocabularySizes {
  int64_t source, target;
};

struct ArchitectureEntry {
  std::string_view name, paper, help;
  std::unique_ptr<Model> (*make)(Parameters&, const ModelConfig&, const VocabularySizes&);
};
std::span<const ArchitectureEntry> architectures();
std::unique_ptr<Model> make_model(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes);

}  // namespace fovea
