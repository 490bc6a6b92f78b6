// Reading comprehension from files to answers: what is read, how tokens, windows and offsets are counted, and a toy
// that is learned completely.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/random.h"
#include "store/model_folder.h"
#include "support.h"
#include "tasks/answer_features.h"
#include "tasks/answer_input.h"
#include "tasks/answer_model.h"
#include "tasks/answer_set.h"
#include "tasks/answer_spans.h"
#include "tasks/answer_text.h"
#include "tasks/reader.h"
#include "temporary_folder.h"
#include "text/utf8.h"
#include "train/small_run.h"

namespace fovea {
namespace {

using Texts = std::vector<std::string>;

AnswerSet read(const std::string& file) { return read_answer_set(std::vector{file}); }

// ---- data

TEST(AnswerSet, ReadsJsonLinesWithOffsetsInCharacters) {
  const TemporaryFolder folder;
  const AnswerSet set = read(folder.file(
      "a.jsonl",
      "{\"id\": 7, \"context\": \"é👍🏽 北京 is big\", \"question\": \"What is big?\", \"answers\": [{\"text\": "
      "\"北京\", \"start\": 4}]}\n\n{\"context\": \"é👍🏽 北京 is big\", \"question\": \"How?\", "
      "\"answers\": [{\"text\": \"big\", \"start\": 10}]}\n"));
  ASSERT_EQ(set.questions.size(), 2u);
  EXPECT_EQ(set.passages.size(), 1u) << "passages are stored once";
  EXPECT_EQ(set.questions[0].id, "7");
  EXPECT_EQ(set.questions[0].references[0].begin_byte, 11);
  EXPECT_EQ(set.questions[1].references[0].begin_byte, 21);
  EXPECT_TRUE(set.messages.empty());
}

TEST(AnswerSet, ReadsSquad) {
  const TemporaryFolder folder;
  const std::string squad =
      "{\"version\": \"1.1\", \"data\": [{\"title\": \"t\", \"paragraphs\": [{\"context\": \"The cat sat.\",\n"
      "\"qas\": [{\"id\": \"x\", \"question\": \"Who sat?\", \"answers\": [{\"text\": \"The cat\", \"answer_start\": "
      "0}]},\n"
      "{\"id\": \"y\", \"question\": \"Who ran?\", \"is_impossible\": true, \"answers\": []}]}]}]}";
  const AnswerSet set = read(folder.file("squad.json", squad));
  ASSERT_EQ(set.questions.size(), 1u);
  EXPECT_EQ(set.questions[0].references[0].text, "The cat");
  ASSERT_EQ(set.messages.size(), 1u);
  EXPECT_NE(set.messages[0].find("question y: left out: 1 question without an answer"), std::string::npos)
      << set.messages[0];
}

TEST(AnswerSet, ErrorsNameTheLine) {
  const TemporaryFolder folder;
  const std::string good = R"({"context": "a b", "question": "q", "answers": [{"text": "a", "start": 0}]})";
  EXPECT_ERROR(read(folder.file("1.jsonl", good + "\n{\"context\": \n")), "1.jsonl:2");
  EXPECT_ERROR(read(folder.file("2.jsonl", good + "\n[1]\n")), "2.jsonl:2: expected an object");
  EXPECT_ERROR(read(folder.file("3.jsonl", R"({"context": "a", "answers": []})")), "3.jsonl:1: expected \"question\"");
  EXPECT_ERROR(
      read(folder.file("4.jsonl", R"({"context": "a", "question": "q", "answers": [{"text": "a", "start": "0"}]})")),
      "4.jsonl:1: start: expected an integer");
  EXPECT_ERROR(read(folder.file("5.jsonl", good + "\n" + std::string(100'000, '[') + "\n")), "5.jsonl:2");
  EXPECT_ERROR(read(folder.file("6.jsonl", "\n")), "6.jsonl: expected questions");
  EXPECT_ERROR(read(folder.file("7.json", "{\"data\": [" + std::string(100'000, '['))), "7.json");
  EXPECT_ERROR(read(folder.file("8.json", "{\"data\": [{}]}")), "article 1: expected \"paragraphs\"");
}

TEST(AnswerSet, LeavesOutAnswersThatAreNotAtTheirPlace) {
  const TemporaryFolder folder;
  const AnswerSet set = read(folder.file(
      "a.jsonl",
      R"({"id": "p", "context": "a b c", "question": "q", "answers": [{"text": "b", "start": 0}, {"text": "c", "start": 4}]})"
      "\n"
      R"({"id": "r", "context": "a b c", "question": "q", "answers": [{"text": "b", "start": 99}, {"text": "b", "start": -1}]})"));
  ASSERT_EQ(set.questions.size(), 1u);
  EXPECT_EQ(set.questions[0].references.size(), 1u);
  ASSERT_EQ(set.messages.size(), 2u);
  EXPECT_NE(set.messages[0].find("question p: left out: 3 answers not at the given position"), std::string::npos);
  EXPECT_NE(set.messages[1].find("question r: left out: 1 question"), std::string::npos);
  const std::string nowhere =
      R"({"id": "s", "context": "a b c", "question": "q", "answers": [{"text": "b", "start": 0}]})"
      "\n";
  EXPECT_ERROR(read(folder.file("b.jsonl", nowhere + nowhere)),
               "b.jsonl:1: question s: expected answers at their positions in the passages, got none in 2 questions");
}

// ---- tokens and windows

Texts pieces(const std::string& text, bool characters = false) {
  Texts result;
  for (const ByteRange& range : split_tokens(text, characters)) {
    result.push_back(text.substr(range.begin, range.end - range.begin));
  }
  return result;
}

TEST(AnswerTokens, AreWordsNumbersMarksAndSingleHanCharacters) {
  EXPECT_EQ(pieces("Don't pay $1,000.50 (now)."), (Texts{"Don", "'t", "pay", "$", "1,000.50", "(", "now", ")", "."}));
  EXPECT_EQ(pieces("北京2008年，NBA"), (Texts{"北", "京", "2008", "年", "，", "NBA"}));
  EXPECT_EQ(pieces("e\u0301te\u0301 👍🏽👩\u200D🚀!"), (Texts{"e\u0301te\u0301", "👍🏽", "👩\u200D🚀", "!"}));
  EXPECT_EQ(pieces(" a b", true), (Texts{"a", "b"}));
  EXPECT_EQ(pieces(""), Texts());
  EXPECT_EQ(pieces("\u0301"), (Texts{"\u0301"})) << "a mark without anything to combine with";
  EXPECT_EQ(pieces("\xFF\xFE"), (Texts{"\xFF", "\xFE"})) << "invalid bytes are tokens";
}

TEST(AnswerTokens, StemsMatch) {
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
           {"founded", "founds"}, {"cities", "city"}, {"running", "runs"}, {"named", "name"}, {"largely", "large"}}) {
    EXPECT_EQ(stem_of(a), stem_of(b)) << a << " " << b;
  }
  EXPECT_NE(stem_of("bus"), stem_of("bu"));
  EXPECT_EQ(stem_of("北京"), "北京");
}

TEST(AnswerWindows, CoverEveryTokenAndOverlap) {
  AnswerConfig config;
  config.window = 10;
  config.stride = 4;
  for (const int64_t tokens : {1, 9, 10, 11, 14, 15, 103}) {
    const std::vector<WindowRange> windows = windows_of(tokens, config);
    EXPECT_EQ(windows.front().begin, 0);
    EXPECT_EQ(windows.back().end, tokens);
    for (size_t i = 1; i < windows.size(); ++i) EXPECT_EQ(windows[i].begin, windows[i - 1].begin + 4);
  }
  EXPECT_EQ(windows_of(10, config).size(), 1u);
  EXPECT_EQ(windows_of(11, config).size(), 2u);
  EXPECT_TRUE(windows_of(0, config).empty());
}

const auto kAnySpan = [](int64_t, int64_t) { return true; };

TEST(AnswerSpans, AreTheBestThatDoNotOverlap) {
  const std::vector<WindowLogits> windows = {{0, {0, 5, 0, 3}, {0, 0, 5, 4}}};
  const std::vector<TokenSpan> found = best_spans(windows, 3, 2, kAnySpan);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].first, 1);
  EXPECT_EQ(found[0].last, 2);
  EXPECT_EQ(found[1].first, 3);
  EXPECT_EQ(found[1].last, 3);
  EXPECT_EQ(found[2].first, 0);
  EXPECT_EQ(found[2].last, 0);
  EXPECT_LT(found[0].probability + found[1].probability + found[2].probability, 1);
  EXPECT_EQ(best_spans(windows, 1, 1, kAnySpan)[0].first, 3) << "one token at most";
}

TEST(AnswerSpans, WindowsAreComparedByTheirLogits) {
  // The second window is surer; the first would win if each were normalised for itself.
  const std::vector<WindowLogits> windows = {{0, {2, -9, -9}, {2, -9, -9}}, {2, {-9, 4, 3.9f}, {-9, 4, 3.9f}}};
  const std::vector<TokenSpan> found = best_spans(windows, 1, 1, kAnySpan);
  EXPECT_EQ(found[0].first, 3);
  EXPECT_EQ(found[0].window, 1);
}

TEST(AnswerSpans, ASpanOfTwoWindowsIsFoundOnce) {
  const std::vector<WindowLogits> windows = {{0, {0, 0, 0, 6}, {0, 0, 0, 6}}, {2, {0, 7, 0, 0}, {0, 7, 0, 0}}};
  const std::vector<TokenSpan> found = best_spans(windows, 5, 1, kAnySpan);
  EXPECT_EQ(std::count_if(found.begin(), found.end(), [](const TokenSpan& s) { return s.first == 3; }), 1);
  EXPECT_EQ(found[0].first, 3);
  EXPECT_EQ(found[0].window, 1);
  EXPECT_GT(found[0].probability, 0.9);
  EXPECT_LE(found[0].probability, 1.0);
}

// ---- a toy: the answer is the word after the one that the question names

std::string toy_line(Random& random, int64_t words, int64_t id) {
  const Texts names = {"red", "blue", "green", "black", "white", "pink"};
  const Texts things = {"cat", "dog", "horse", "cow", "bird", "fish", "ant", "bee"};
  std::vector<size_t> order = {0, 1, 2, 3, 4, 5};
  for (size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  std::string context, answer;
  const size_t asked = random.below(static_cast<uint64_t>(words));
  size_t start = 0;
  for (size_t i = 0; i < static_cast<size_t>(words); ++i) {
    const std::string thing = things[random.below(things.size())];
    context += (i == 0 ? "" : " , ") + names[order[i]] + " ";
    if (i == asked) {
      start = context.size();
      answer = thing;
    }
    context += thing;
  }
  return fmt::format(
      "{{\"id\": \"{}\", \"context\": \"{} .\", \"question\": \"what is {} ?\", \"answers\": [{{\"text\": \"{}\", "
      "\"start\": "
      "{}}}]}}\n",
      id, context, names[order[asked]], answer, start);
}

std::string toy_lines(int64_t count, uint64_t seed) {
  Random random(seed);
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += toy_line(random, 4, i);
  return text;
}

Recipe toy_recipe(const TemporaryFolder& folder, const std::string& name) {
  Recipe recipe;
  recipe.folder = folder.file(name);
  recipe.task = "answer";
  recipe.threads = 1;
  recipe.data.train = {folder.file("train.jsonl", toy_lines(600, 1))};
  recipe.data.valid = {folder.file("valid.jsonl", toy_lines(60, 2))};
  recipe.source_vocabulary.kind = "word";
  recipe.model.encoder = "recurrent";
  recipe.model.embedding = 16;
  recipe.model.hidden = 16;
  recipe.model.dropout = 0;
  recipe.answer.modelling_layers = 1;
  recipe.answer.character_filters = 8;
  recipe.answer.character_embedding = 4;
  recipe.answer.max_answer = 3;
  recipe.batch.sentences = 20;
  recipe.training.learning_rate = 0.01;
  recipe.training.precision = "f32";
  recipe.training.steps = 600;
  recipe.validation.every = 60;
  recipe.validation.metric = "exact";
  recipe.validation.goal = 100;
  return recipe;
}

class TrainedToy : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder();
    const Recipe recipe = toy_recipe(*folder, "run");
    model = recipe.folder;
    result = train(recipe, Start::kNew);
    reader = new Reader(model, {.device = "cpu", .precision = "f32"});
  }
  static void TearDownTestSuite() {
    delete reader;
    delete folder;
  }
  static Reading ask(const std::string& passage, const std::string& question, const AnswerOptions& options = {}) {
    return reader->answer(std::vector<PassageQuestion>{{passage, question}}, options).front();
  }
  static inline TemporaryFolder* folder = nullptr;
  static inline Reader* reader = nullptr;
  static inline std::string model;
  static inline TrainingResult result;
};

TEST_F(TrainedToy, IsLearnedCompletely) {
  EXPECT_EQ(result.why, "exact reached 100");
  EXPECT_EQ(task_of_model(model), "answer");
  EXPECT_EQ(ask("red cat , blue dog .", "what is blue ?").answers.front().text, "dog");
}

TEST_F(TrainedToy, OffsetsAreCharactersAndBytes) {
  const std::string passage = "é👍🏽 red cat , 北 blue dog .";
  const Answer answer = ask(passage, "what is blue ?").answers.front();
  ASSERT_EQ(answer.text, "dog");
  EXPECT_EQ(
      passage.substr(static_cast<size_t>(answer.begin_byte), static_cast<size_t>(answer.end_byte - answer.begin_byte)),
      answer.text);
  EXPECT_EQ(answer.begin, 21);
  EXPECT_EQ(answer.end, 24);
  EXPECT_GT(answer.probability, 0.3);
  EXPECT_LE(answer.probability, 1);
}

TEST_F(TrainedToy, EmptyTextsGiveAnEmptyAnswer) {
  for (const auto& [passage, question] : std::vector<std::pair<std::string, std::string>>{
           {"", "what is red ?"}, {"red cat", ""}, {"", ""}, {" \n ", " "}}) {
    const Reading reading = ask(passage, question, {.nbest = 3, .capture_weights = true});
    ASSERT_EQ(reading.answers.size(), 1u);
    EXPECT_EQ(reading.answers[0].text, "");
    EXPECT_EQ(reading.answers[0].probability, 0);
    EXPECT_FALSE(reading.record);
  }
  EXPECT_EQ(ask("cat", "what is red ?").answers.front().text, "cat");
  EXPECT_NEAR(ask("cat", "what is red ?").answers.front().probability, 1, 1e-6);
}

TEST_F(TrainedToy, ABatchAnswersLikeOneByOne) {
  std::vector<PassageQuestion> questions;
  Random random(9);
  const AnswerSet set = read(folder->file("more.jsonl", toy_lines(40, 5)));
  for (const AnswerQuestion& q : set.questions) {
    std::string passage = set.passages[static_cast<size_t>(q.passage)];
    for (uint64_t extra = random.below(4); extra > 0; --extra) passage += " more words .";
    questions.push_back({passage, q.question});
  }
  questions.push_back({"", "?"});
  const std::vector<Reading> together = reader->answer(questions, {.nbest = 2});
  for (size_t i = 0; i < questions.size(); ++i) {
    const Reading alone = ask(questions[i].passage, questions[i].question, {.nbest = 2});
    ASSERT_EQ(together[i].answers.size(), alone.answers.size());
    for (size_t n = 0; n < alone.answers.size(); ++n) {
      EXPECT_EQ(together[i].answers[n].begin, alone.answers[n].begin) << i;
      EXPECT_NEAR(together[i].answers[n].probability, alone.answers[n].probability, 1e-4);
    }
  }
}

TEST_F(TrainedToy, ALongPassageIsReadInWindows) {
  std::string passage;
  while (passage.size() < 100'000) passage += "and so on . ";
  const size_t place = passage.size();
  passage += "red cat , blue dog .";
  for (int i = 0; i < 300; ++i) passage += " and so on .";
  const Reading reading = ask(passage, "what is blue ?", {.nbest = 2, .capture_weights = true});
  EXPECT_GT(reading.windows, 100);
  EXPECT_EQ(reading.answers.front().text, "dog");
  EXPECT_EQ(reading.answers.front().begin, static_cast<int64_t>(place) + 15);
  EXPECT_NE(reading.answers[1].begin, reading.answers[0].begin);
  ASSERT_TRUE(reading.record);
  EXPECT_TRUE(reading.record->truncated);
  EXPECT_LE(std::ssize(reading.record->source), reader->loaded().config.answer.window);
  bool found = false;
  for (const RecordToken& token : reading.record->source) {
    found = found || (token.begin == reading.answers.front().begin && token.text == "dog");
  }
  EXPECT_TRUE(found) << "the record is of the window with the answer";
}

TEST_F(TrainedToy, ALongQuestionIsTruncatedAndSaidSo) {
  std::string question = "what is blue ?";
  for (int i = 0; i < 1000; ++i) question += " ?";
  const Reading reading = ask("red cat , blue dog .", question);
  EXPECT_TRUE(reading.question_truncated);
  EXPECT_FALSE(reading.answers.front().text.empty());
}

TEST_F(TrainedToy, HasARecord) {
  const Reading reading = ask("red cat , blue dog .", "what is blue ?", {.nbest = 1, .capture_weights = true});
  ASSERT_TRUE(reading.record);
  const AttentionRecord& record = *reading.record;
  EXPECT_EQ(record.task, "answer");
  EXPECT_EQ(record.source.size(), 6u);
  EXPECT_EQ(record.target.size(), 4u);
  ASSERT_TRUE(record.answer);
  EXPECT_EQ(record.answer->text, "dog");
  EXPECT_EQ(record.answer->begin, 15);
  ASSERT_EQ(record.attentions.size(), 2u);
  EXPECT_EQ(record.attentions[0].kind, "question-to-passage");
  EXPECT_EQ(record.attentions[0].row_labels, (Texts{"question"}));
  EXPECT_EQ(record.attentions[1].kind, "passage-to-question");
  EXPECT_EQ(record.attentions[1].rows, 6);
  EXPECT_EQ(record.attentions[1].columns, 4);
  for (const RecordedAttention& a : record.attentions) {
    for (int64_t row = 0; row < a.rows; ++row) {
      double sum = 0;
      for (int64_t s = 0; s < a.columns; ++s) sum += static_cast<double>(a.row(0, 0, row)[s]);
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
}

TEST_F(TrainedToy, PackedItAnswersTheSame) {
  const std::string packed = folder->file("packed");
  save_packed_reader(packed, reader->loaded());
  EXPECT_LT(std::filesystem::file_size(packed + "/model.safetensors"),
            std::filesystem::file_size(model + "/model.safetensors"));
  const Reader small(packed, {.device = "cpu", .precision = "f32"});
  const AnswerSet set = read(folder->file("packed.jsonl", toy_lines(30, 6)));
  for (const AnswerQuestion& q : set.questions) {
    const PassageQuestion question{set.passages[static_cast<size_t>(q.passage)], q.question};
    EXPECT_EQ(small.answer(std::vector{question}).front().answers.front().text,
              ask(question.passage, question.question).answers.front().text);
  }
}

TEST_F(TrainedToy, PredictsLines) {
  const std::unique_ptr<Predictor> predictor = load_predictor(model, {.device = "cpu", .precision = "f32"});
  EXPECT_EQ(predictor->predict(Texts{"red cat , blue dog .\twhat is red ?"}), (Texts{"cat"}));
  EXPECT_ERROR(predictor->predict(Texts{"no tab"}), "expected a passage, a tab and a question");
}

// ---- training

TEST(AnswerTask, ResumesAsIfItHadNeverStopped) {
  const TemporaryFolder folder;
  Recipe whole = toy_recipe(folder, "whole"), parts = toy_recipe(folder, "parts");
  for (Recipe* recipe : {&whole, &parts}) {
    recipe->model.dropout = 0.2;
    recipe->training.ema = 0.9;
    recipe->training.steps = 12;
    recipe->validation.every = 5;
  }
  train(whole, Start::kNew);
  Silent first;
  first.stop_after = 7;
  train(parts, Start::kNew, &first);
  train(parts, Start::kResume);
  EXPECT_EQ(read_file(whole.folder + "/model.safetensors"), read_file(parts.folder + "/model.safetensors"));
}

TEST(AnswerTask, LearnsWindowsWithoutTheAnswerToo) {
  const TemporaryFolder folder;
  Recipe recipe = toy_recipe(folder, "windows");
  recipe.answer.window = 6;
  recipe.answer.stride = 3;
  recipe.training.steps = 900;
  Silent listener;
  EXPECT_EQ(train(recipe, Start::kNew, &listener).why, "exact reached 100");
  EXPECT_NE(listener.messages.find("train: 600 questions about "), std::string::npos) << listener.messages;
  const Reader reader(recipe.folder, {.device = "cpu", .precision = "f32"});
  EXPECT_GT(reader.answer(std::vector<PassageQuestion>{{"red cat , blue dog , pink cow .", "what is pink ?"}})
                .front()
                .windows,
            1);
}

TEST(AnswerTask, JointReadersLearn) {
  const TemporaryFolder folder;
  Recipe recipe = toy_recipe(folder, "joint");
  recipe.answer.interaction = "joint";
  recipe.model.encoder = "transformer";
  recipe.model.embedding = 32;
  recipe.model.feed_forward = 64;
  recipe.model.encoder_layers = 2;
  recipe.training.learning_rate = 0.003;
  recipe.training.steps = 1500;
  recipe.validation.goal = 95;
  const TrainingResult result = train(recipe, Start::kNew);
  EXPECT_GE(result.best.value_or(0), 95);
  const Reader reader(recipe.folder, {.device = "cpu", .precision = "f32"});
  const Reading reading = reader
                              .answer(std::vector<PassageQuestion>{{"red cat , blue dog .", "what is blue ?"}},
                                      {.nbest = 1, .capture_weights = true})
                              .front();
  ASSERT_TRUE(reading.record);
  ASSERT_EQ(reading.record->attentions.size(), 1u);
  const RecordedAttention& a = reading.record->attentions.front();
  EXPECT_EQ(a.kind, "question-to-passage");
  EXPECT_EQ(a.layers, 2);
  EXPECT_EQ(a.rows, 4);
  EXPECT_EQ(a.columns, 6);
  EXPECT_NE(a.mechanism.find("from question to passage"), std::string::npos);
}

TEST(AnswerTask, SubwordsAndCharactersAreTokensToo) {
  const TemporaryFolder folder;
  for (const char* kind : {"bpe", "character"}) {
    Recipe recipe = toy_recipe(folder, kind);
    recipe.source_vocabulary.kind = kind;
    recipe.source_vocabulary.size = 60;
    recipe.answer.character_filters = 0;
    recipe.answer.max_answer = 12;
    recipe.training.steps = 3;
    recipe.validation.metric = "f1";
    recipe.validation.goal = 0;
    train(recipe, Start::kNew);
    const Reader reader(recipe.folder, {.device = "cpu", .precision = "f32"});
    const std::string passage = "red cat , 北 blue dog .";
    const Answer answer = reader.answer(std::vector<PassageQuestion>{{passage, "what ?"}}).front().answers.front();
    EXPECT_EQ(passage.substr(static_cast<size_t>(answer.begin_byte),
                             static_cast<size_t>(answer.end_byte - answer.begin_byte)),
              answer.text);
    EXPECT_EQ(count_code_points(passage.substr(0, static_cast<size_t>(answer.begin_byte))), answer.begin);
  }
}

TEST(AnswerTask, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  Recipe recipe = toy_recipe(folder, "wrong");
  recipe.data.train = {folder.file("none.jsonl")};
  EXPECT_ERROR(train(recipe, Start::kNew), "data.train");
  recipe = toy_recipe(folder, "wrong");
  recipe.model.encoder = "transformer";
  recipe.model.positions = "learned";
  recipe.model.longest = 50;
  EXPECT_ERROR(train(recipe, Start::kNew), "model.longest: expected at least 400");
  EXPECT_ERROR(load_reader(folder.file("nowhere"), Device::cpu()), "nowhere: expected a model folder");
}

TEST(AnswerTask, HoldsOutWholePassages) {
  const TemporaryFolder folder;
  Recipe recipe = toy_recipe(folder, "held");
  recipe.data.valid.clear();
  recipe.training.steps = 1;
  Silent listener;
  train(recipe, Start::kNew, &listener);
  EXPECT_NE(listener.messages.find("no data.valid: "), std::string::npos) << listener.messages;
  // A passage whose questions were left out is not held out.
  std::string left_out;
  for (int i = 0; i < 6; ++i) {
    left_out += fmt::format(R"({{"context": "x{} y", "question": "q", "answers": [{{"text": "y", "start": 0}}]}})", i);
    left_out += "\n";
  }
  recipe.folder = folder.file("held2");
  recipe.data.train = {folder.file("few.jsonl", toy_lines(10, 3) + left_out)};
  Silent few;
  train(recipe, Start::kNew, &few);
  EXPECT_NE(few.messages.find("no data.valid: 1 question of data.train"), std::string::npos) << few.messages;
}

}  // namespace
}  // namespace fovea
