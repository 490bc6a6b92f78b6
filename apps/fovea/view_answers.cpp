#include "fovea/view_answers.h"

#include <fmt/format.h>

#include "base/error.h"
#include "fovea/console.h"
#include "fovea/passage.h"
#include "tasks/reader.h"

namespace fovea::app {

void each_answered(const ViewFlags& flags, const std::function<void(AttentionRecord&)>& take) {
  check(!flags.passage.empty(), "view: a model of the task answer needs --passage FILE");
  check(!flags.what.empty(), "view: expected a question about the passage");
  check(flags.target.empty() && flags.input.empty(), "view: expected questions as arguments, not --target or --input");
  check(!flags.scores, "--scores: expected a model from text to text; a reader's record has weights only");
  const std::string passage = read_passage(flags.passage);
  const PredictorFlags predictor = flags.for_predictor();
  const Reader reader(predictor.prepare("answer"), predictor.options);
  Console console(stderr);
  for (size_t i = 0; i < flags.what.size(); ++i) {
    const std::vector<PassageQuestion> question = {{passage, flags.what[i]}};
    Reading reading = reader.answer(question, {.nbest = 1, .capture_weights = true}).front();
    check(reading.record.has_value(), "view: expected a passage and a question with text, got an empty one");
    if (reading.windows > 1) {
      console.line(fmt::format("the passage was read in {} windows; the picture is of the one with the answer",
                               reading.windows));
    }
    reading.record->line = static_cast<int64_t>(i) + 1;
    take(*reading.record);
  }
}

}  // namespace fovea::app
