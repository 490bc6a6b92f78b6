// Reads what a request changes in a search: the begin of the target, and attention weights.
#pragma once

#include <string>
#include <vector>

#include "fovea/serve/hosted.h"
#include "fovea/serve/requests.h"

namespace fovea::app {

// The prefix of a request, as it was written: its ids depend on the words that a source lets the model copy.
struct WrittenPrefix {
  std::string text;                 // or tokens
  std::vector<std::string> tokens;  // of the prefix, unless it is a text
  std::string next;                 // the token after it
  bool empty() const { return text.empty() && tokens.empty() && next.empty(); }
};
WrittenPrefix read_prefix(Members& members);
// Of a model that translates, with the words of the source that it may copy; and of a captioner.
ForcedPrefix prefix_ids(const WrittenPrefix& written, const Hosted& model, const TokenisedLine& source);
ForcedPrefix caption_prefix_ids(const WrittenPrefix& written, const Hosted& model);

std::vector<WeightEdit> read_edits(Members& members, const Model& model);

}  // namespace fovea::app
