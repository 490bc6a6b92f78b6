#include "fovea/evaluate_answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/thousands.h"
#include "evaluate/answers.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/output.h"
#include "tasks/answer_set.h"
#include "tasks/reader.h"

namespace fovea::app {

namespace {

Json score_json(const AnswerScore& score) { return {{"exact", score.exact}, {"f1", score.f1}}; }

}  // namespace

std::string answer_metrics_among(const std::vector<std::string>& metrics) {
  for (const std::string& name : answer_metrics_names()) {
    if (std::find(metrics.begin(), metrics.end(), name) != metrics.end()) return name;
  }
  return "";
}

int evaluate_answers(const AnswerTest& test, const PredictorFlags& flags) {
  check(!test.source.empty(), "evaluate: a model of the task answer needs --source with questions and answers (JSON)");
  const AnswerSet set = read_answer_set(std::vector{test.source});
  Console console(stderr);
  for (const std::string& message : set.messages) console.line(message);
  std::vector<PassageQuestion> questions;
  std::vector<std::string> texts;
  std::vector<Segment> segments, baseline;
  for (const AnswerQuestion& question : set.questions) {
    const std::string& passage = set.passages[static_cast<size_t>(question.passage)];
    questions.push_back({passage, question.question});
    texts.push_back(question.question);
    Segment& segment = segments.emplace_back();
    for (const AnswerReference& reference : question.references) segment.references.push_back(reference.text);
    baseline.push_back({best_sentence(passage, question.question), segment.references});
  }
  const Reader reader(flags.prepare("answer"), flags.options);
  const std::vector<Reading> readings = reader.answer(questions, {}, [&](int64_t done) {
    console.live(fmt::format("answered {} of {}", thousands(done), counted(std::ssize(questions), "question")));
  });
  console.finish();
  Output output(test.output.empty() ? "/dev/null" : test.output);
  for (size_t i = 0; i < readings.size(); ++i) {
    segments[i].hypothesis = readings[i].answers.front().text;
    output.write(segments[i].hypothesis + "\n");
  }
  output.commit();
  const AnswerMetrics metrics = test.metrics.empty() ? answer_metrics_for(texts) : answer_metrics_named(test.metrics);
  const AnswerScore score = answer_score(segments, metrics), floor = answer_score(baseline, metrics);
  if (test.json) {
    Json json{{"questions", segments.size()}, {"metrics", name_of(metrics)}};
    json.update(score_json(score));
    json["best_sentence"] = score_json(floor);
    fmt::print("{}\n", json.dump(2));
    return kDone;
  }
  fmt::print("{}, scored as {} does\n", counted(std::ssize(segments), "question"),
             metrics == AnswerMetrics::kSquad ? "SQuAD" : "CMRC 2018");
  fmt::print("exact match = {:.2f}  (the sentence that shares most words: {:.2f})\n", score.exact, floor.exact);
  fmt::print("F1 = {:.2f}  (the sentence that shares most words: {:.2f})\n", score.f1, floor.f1);
  return kDone;
}

}  // namespace fovea::app
