#include "text/dialogue.h"

#include "base/fields.h"

namespace fovea {

std::vector<std::string> DialogueFormat::symbols() const {
  std::vector<std::string> symbols = {std::string(kTurnMark)};
  symbols.insert(symbols.end(), speakers.begin(), speakers.end());
  return symbols;
}

void DialogueFormat::describe(Fields& f) {
  f.add("context_turns", context_turns, "Number of turns before a reply that the model reads, at most.")
      .at_least(1)
      .also_called({"history", "max_turns", "context", "turns"});
  f.add("speakers", speakers,
        "Marks at the beginning of a turn, two: of the person spoken to, and of whoever replies. Each is one token.");
}

}  // namespace fovea
