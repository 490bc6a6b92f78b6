// fovea answer: answers questions about a passage with a piece of it.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/thousands.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/flags.h"
#include "fovea/output.h"
#include "fovea/passage.h"
#include "tasks/answer_model.h"
#include "tasks/answer_set.h"
#include "tasks/reader.h"
#include "text/lines.h"

namespace fovea::app {

namespace {

constexpr size_t kLinesAtOnce = 1024;  // questions that are batched together

struct AnswerFlags : PredictorFlags {
  std::vector<std::string> questions;
  std::string passage, input = "-", output;
  int64_t nbest = 1;
  bool json = false;
};

Json answer_json(const Answer& answer) {
  return {{"text", answer.text},         {"begin", answer.begin},
          {"end", answer.end},           {"begin_byte", answer.begin_byte},
          {"end_byte", answer.end_byte}, {"probability", answer.probability}};
}

// One object for each question: the best answer and, with --nbest, all candidates.
std::string json_line(const QuestionLine& line, const Reading& reading, bool candidates) {
  Json json = Json::object();
  if (!line.id.is_null()) json["id"] = line.id;
  json["question"] = line.question;
  json.update(answer_json(reading.answers.front()));
  if (candidates) {
    json["candidates"] = Json::array();
    for (const Answer& answer : reading.answers) json["candidates"].push_back(answer_json(answer));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string text_lines(const Reading& reading, int64_t number, bool candidates) {
  if (!candidates) return reading.answers.front().text + "\n";
  std::string text;
  for (const Answer& answer : reading.answers) {
    text += fmt::format("{} ||| {} ||| {:.4f}\n", number, answer.text, answer.probability);
  }
  return text;
}

// A line of input: a question, or why it is none.
struct InputLine {
  QuestionLine question;
  std::string place, error;
};

// Answers lines of JSON as they are read, with one line of output for each.
class LineAnswerer {
 public:
  LineAnswerer(const AnswerFlags& flags, const std::string& question)
      : flags_(flags),
        folder_(flags.prepare("answer", question)),
        reader_(folder_, flags.options),
        output_(flags.output) {}

  void take(const std::vector<InputLine>& lines) {
    std::vector<PassageQuestion> questions;
    for (const InputLine& line : lines) {
      if (line.error.empty()) questions.push_back({line.question.passage, line.question.question});
    }
    if (flags_.model.empty() && before_ == 0 && !questions.empty()) warn_of_language(folder_, questions[0].passage);
    const std::vector<Reading> readings = reader_.answer(questions, {.nbest = flags_.nbest}, [&](int64_t done) {
      console_.live(fmt::format("{} answered", counted(before_ + done, "question")));
    });
    std::string text;
    size_t next = 0;
    for (const InputLine& line : lines) {
      ++before_;
      if (!line.error.empty()) {
        console_.line("fovea: " + line.error);
        text += Json{{"error", line.error}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
        failed_ = true;
        continue;
      }
      const Reading& reading = readings[next++];
      warn(line, reading);
      text += flags_.json ? json_line(line.question, reading, flags_.nbest > 1)
                          : text_lines(reading, before_, flags_.nbest > 1);
    }
    console_.finish();
    output_.write(text);
  }
  // Whether every line was a question.
  bool end() {
    output_.commit();
    return !failed_;
  }

 private:
  void warn(const InputLine& line, const Reading& reading) {
    if (reading.question_truncated) {
      console_.line(fmt::format("{}: warning: the question was truncated to {} tokens", line.place,
                                reader_.loaded().config.answer.max_question));
    }
    if (reading.answers.front().text.empty()) {
      console_.line(fmt::format("{}: warning: no answer, because the {} is empty", line.place,
                                line.question.question.empty() ? "question" : "passage or the question"));
    }
  }

  const AnswerFlags& flags_;
  const std::string folder_;
  const Reader reader_;
  Output output_;
  Console console_{stderr};
  int64_t before_ = 0;
  bool failed_ = false;
};

int answer_arguments(const AnswerFlags& flags) {
  const std::string passage = read_passage(flags.passage);
  LineAnswerer answerer(flags, flags.questions.front());
  std::vector<InputLine> lines;
  for (const std::string& question : flags.questions) {
    lines.push_back({{nullptr, passage, question}, fmt::format("question {}", lines.size() + 1), ""});
  }
  answerer.take(lines);
  return answerer.end() ? kDone : kFailed;
}

int answer_lines(AnswerFlags flags) {
  flags.json = true;
  LineAnswerer answerer(flags, "");
  LineReader input(flags.input, kMaxJsonLine);
  if (flags.input == "-" && isatty(STDIN_FILENO) == 1) {
    fmt::print(stderr, "type one JSON object per line, with \"context\" and \"question\"; Ctrl-D to finish\n");
  }
  std::vector<InputLine> lines;
  size_t bytes = 0;
  constexpr size_t kBytesAtOnce = size_t{16} << 20;
  for (std::string line; input.next(line);) {
    InputLine& read = lines.emplace_back();
    read.place = input.place();
    bytes += line.size();
    try {
      read.question = parse_question_line(line, read.place);
    } catch (const Error& error) {
      read.error = error.what();
    }
    if (lines.size() < kLinesAtOnce && bytes < kBytesAtOnce) continue;
    answerer.take(lines);
    lines.clear();
    bytes = 0;
  }
  answerer.take(lines);
  return answerer.end() ? kDone : kFailed;
}

int answer(const AnswerFlags& flags) {
  check(flags.passage.empty() == flags.questions.empty(), "answer: expected {}",
        flags.passage.empty() ? "--passage FILE for the question" : "a question about the passage");
  return flags.passage.empty() ? answer_lines(flags) : answer_arguments(flags);
}

}  // namespace

void add_answer(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("answer", "Answer questions about a passage with a piece of it.");
  const auto flags = std::make_shared<AnswerFlags>();
  CLI::Option* questions =
      command->add_option("question", flags->questions, "Questions about --passage; each argument is one question.");
  questions->type_name("TEXT");
  add_predictor_flags(*command, *flags);
  command->add_option("-p,--passage", flags->passage, "File with the passage; - for standard input.")
      ->type_name("FILE");
  command->add_option("-i,--input", flags->input, "File of JSON lines; - for standard input.")
      ->type_name("FILE")
      ->excludes(questions);
  command->add_option("-o,--output", flags->output, "File for the answers; standard output by default.")
      ->type_name("FILE");
  command->add_option("--nbest", flags->nbest, "Number of answers to each question; they do not overlap.")
      ->check(at_least(1));
  command->add_flag("--json", flags->json, "With --passage: print one JSON object per question.");
  command->footer(
      "A line of input is an object with \"context\" (or \"passage\"), \"question\" and, if you like, \"id\"; a line "
      "of\n"
      "output has the answer's text, its place in the passage in characters and bytes, and its probability. A line "
      "that\n"
      "is no question gives an object with \"error\", and exit status 1.\n"
      "Without --model, the shipped model answer-zh reads Chinese.\n"
      "  fovea answer -m runs/answer-en --passage article.txt 'Who founded the town?'\n"
      "  fovea answer -m runs/answer-en -i questions.jsonl -o answers.jsonl --nbest 3");
  command->callback([flags, &run] { run = [flags] { return answer(*flags); }; });
}

}  // namespace fovea::app
