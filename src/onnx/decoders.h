// Decoders as nodes: one step of decoding, for a batch of rows that are sentences or the beams of sentences.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "onnx/encoders.h"

namespace fovea::onnx {

// A tensor that a step reads and computes anew for the next: input past.NAME, output present.NAME. Its first axis is
// the batch. Before the first step it is the output initial.NAME of the encoder, or zeros in which `past` is 0.
struct StepState {
  std::string name;
  bool from_encoder;
  Dimensions shape;
};

// What the graph of the encoder computes for all steps, and for the first.
struct Prepared {
  std::vector<Named> memory, initial;
};

struct StepInput {
  Value tokens;                         // int64 [B]: the tokens chosen last
  Value mask, lengths;                  // of the source: bool [B,S] and int64 [B]; absent for pictures
  std::map<std::string, Value> memory;  // Prepared::memory, by name

  // The mask as attention reads it, bool [B,1,1,S], and the last position that counts, float [B,1,1,1].
  Value attention_mask() const { return mask ? unsqueeze(mask, {1, 2}) : Value(); }
  Value last(const Value& keys) const;
};

// A step while its graph is built.
class Step {
 public:
  Step(Graph& graph, StepInput input) : graph_(graph), input_(std::move(input)) {}
  Graph& graph() const { return graph_; }
  const StepInput& input() const { return input_; }
  const Value& memory(const std::string& name) const { return input_.memory.at(name); }

  Value past(const std::string& name, bool from_encoder, const Dimensions& shape);
  void present(const std::string& name, const Value& value);
  // The number of steps before this one, int64 [1]: an input.
  Value number();
  void output(const Port& port, const Value& value) { graph_.output(port, value); }

  const std::vector<StepState>& states() const { return states_; }

 private:
  Graph& graph_;
  StepInput input_;
  std::vector<StepState> states_;
  Value number_;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual Prepared prepare(const Encoded& encoded) const = 0;
  virtual void step(Step& step) const = 0;
};

// Sizes that a decoder cannot know from its settings.
struct DecoderSizes {
  int64_t memory;      // the depth of the encoder's states
  int64_t vocabulary;  // of the target
};
std::unique_ptr<Decoder> make_decoder(const ModelConfig& config, const DecoderSizes& sizes);
std::unique_ptr<Decoder> make_transformer_decoder(const ModelConfig& config, const DecoderSizes& sizes);
std::unique_ptr<Decoder> make_recurrent_decoder(const ModelConfig& config, const DecoderSizes& sizes);

}  // namespace fovea::onnx
