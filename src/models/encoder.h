// An encoder turns a batch of inputs into states that a decoder or an output head attends over. Decoders know an
// encoder only by these states, so any decoder can be combined with any encoder.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/attention_trace.h"
#include "models/config.h"

namespace fovea {

// A batch of inputs. An encoder reads either tokens or images.
struct Source {
  Tensor ids;      // i32 [S,B]; positions past a sentence's length hold any valid id
  Tensor lengths;  // i32 [B]; absent: all positions count
  Tensor images;   // [B,height,width,channels]
  Var features;    // [S,B,E], E the embedding size: is added to the embedded tokens; may be absent
  // For a model that copies: the ids that the tokens have as target tokens, i32 [B,S], and the number of extended ids,
  // which follow those of the target vocabulary. Absent: the ids above are those of the target vocabulary.
  Tensor copied;
  int64_t extended = 0;
};

struct Encoded {
  Var states;                              // [S,B,D]
  Tensor lengths;                          // i32 [B]; absent: all states count
  std::vector<State> initial;              // the final states of a recurrent encoder, one for each of its layers
  std::vector<AttentionTrace> attentions;  // of the encoder, if they were captured
  Tensor source_ids;                       // i32 [S,B]: the tokens of the states
  Tensor copied;                           // as in Source
  int64_t extended = 0;
};

class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual Encoded operator()(const Source& source, Capture capture = {},
                             std::span<const WeightEdit> edits = {}) const = 0;
  virtual int64_t depth() const = 0;                   // D, the size of a state
  virtual int64_t initial_depth() const { return 0; }  // the size of `initial` states; 0 for an encoder without them
  virtual int64_t max_length() const { return 0; }     // of a source; 0 for no limit
  virtual std::vector<AttentionInfo> attentions() const { return {}; }
  // The embeddings of tokens, [V,E]; null for an encoder of images.
  virtual const Parameter* embeddings() const { return nullptr; }
};

struct EncoderEntry {
  std::string_view name, help;
  bool recurrent, self_attention;  // which settings of ModelConfig it uses
  std::unique_ptr<Encoder> (*make)(Parameters&, const ModelConfig&, int64_t vocabulary_size);
};
std::span<const EncoderEntry> text_encoders();

}  // namespace fovea
