// Conversations become source lines, and files of dialogues become pairs.
#include "tasks/conversation.h"

#include <gtest/gtest.h>

#include "recipe/recipe.h"
#include "store/model_folder.h"
#include "support.h"
#include "tasks/dialogue_data.h"
#include "temporary_folder.h"
#include "train/small_run.h"

namespace fovea {
namespace {

const DialogueFormat kFormat;  // three turns, <a> and <b>

std::unique_ptr<Vocabulary> letters() {
  VocabularyOptions options{.kind = "character"};
  options.symbols = kFormat.symbols();
  return train_vocabulary(std::vector<std::string>{"abc XYZ"}, options).vocabulary;
}

TEST(SourceLine, MarksAreRelativeToTheReply) {
  const std::vector<Turn> turns = {{"anna", "one"}, {"ben", "two"}, {"anna", "three"}};
  EXPECT_EQ(source_line(turns, "ben", kFormat), "<a> one <turn> <b> two <turn> <a> three");
  EXPECT_EQ(source_line(turns, "anna", kFormat), "<b> one <turn> <a> two <turn> <b> three");
  EXPECT_EQ(source_line(turns, "carl", kFormat), "<a> one <turn> <a> two <turn> <a> three");
  EXPECT_EQ(source_line(turns, "ben", {.context_turns = 2}), "<b> two <turn> <a> three");
  EXPECT_EQ(source_line(turns, "ben", {.context_turns = 1, .speakers = {"<user>", "<system>"}}), "<user> three");
  EXPECT_EQ(source_line({}, "ben", kFormat), "");
}

TEST(SourceLine, TurnsAreJoinedAndCleaned) {
  const std::vector<Turn> turns = {
      {"a", "one\n two\t"}, {"a", "more"}, {"b", "  "}, {"a", "end"}, {"b", "<tu<turn>rn>x<a>"}};
  EXPECT_EQ(source_line(turns, "a", kFormat), "<b> one two more end <turn> <a> <tu rn>x");
  EXPECT_EQ(source_line(std::vector<Turn>{{"a", "你\u3000好"}}, "b", kFormat), "<a> 你 好");
}

TEST(Conversation, PersonAndModelAlternate) {
  const auto vocabulary = letters();
  Conversation talk(kFormat);
  EXPECT_EQ(talk.source(*vocabulary, 100), "");
  talk.hear("a");
  EXPECT_EQ(talk.source(*vocabulary, 100), "<a> a");
  talk.reply("b");
  talk.hear("c");
  EXPECT_EQ(talk.source(*vocabulary, 100), "<a> a <turn> <b> b <turn> <a> c");
  talk.reply("X");
  talk.hear("Y");
  EXPECT_EQ(talk.source(*vocabulary, 100), "<a> c <turn> <b> X <turn> <a> Y");
  talk.undo();
  EXPECT_EQ(talk.turns().size(), 4u);
  talk.reset();
  EXPECT_TRUE(talk.turns().empty());
  talk.set(std::vector<Turn>{{"bot", "X"}, {"me", "a"}, {"bot", "Y"}, {"me", "b"}});
  EXPECT_EQ(talk.source(*vocabulary, 100), "<a> a <turn> <b> Y <turn> <a> b");
}

// The newest turn matters most, and a model reads a limited number of tokens.
TEST(Conversation, OldTurnsAreLeftOutWhereTheLineIsTooLong) {
  const auto vocabulary = letters();
  Conversation talk(kFormat);
  talk.hear("aaaaaaaaaa");
  talk.reply("bb");
  talk.hear("cc");
  const std::string all = talk.source(*vocabulary, 1000), two = "<b> bb <turn> <a> cc";
  const auto tokens = [&](const std::string& line) { return std::ssize(vocabulary->encode(line)); };
  EXPECT_EQ(talk.source(*vocabulary, tokens(all)), all);
  EXPECT_EQ(talk.source(*vocabulary, tokens(all) - 1), two);
  EXPECT_EQ(talk.source(*vocabulary, tokens(two) - 1), "<a> cc");
  EXPECT_EQ(talk.source(*vocabulary, 1), "<a> cc");  // the translator truncates it
}

TEST(ReplyPairs, EveryTurnButTheFirstIsAReply) {
  const std::vector<Turn> turns = {{"u", "1"}, {"s", "2"}, {"u", "3"}, {"s", "4"}};
  const ParallelLines all = reply_pairs(turns, {.context_turns = 2});
  EXPECT_EQ(all.target, (std::vector<std::string>{"2", "3", "4"}));
  EXPECT_EQ(all.source, (std::vector<std::string>{"<a> 1", "<b> 1 <turn> <a> 2", "<b> 2 <turn> <a> 3"}));
  EXPECT_EQ(reply_pairs(turns, kFormat, "s").target, (std::vector<std::string>{"2", "4"}));
  EXPECT_TRUE(reply_pairs(turns, kFormat, "nobody").target.empty());
}

TEST(ParseTurns, TextsAndObjects) {
  const auto parse = [](const char* text) { return parse_turns(parse_json(text, "x"), "file:3"); };
  EXPECT_EQ(parse(R"(["a", "b", "c"])")[2].speaker, parse(R"(["a", "b", "c"])")[0].speaker);
  EXPECT_EQ(parse(R"([{"speaker": "me", "text": "a", "id": 7}])")[0].speaker, "me");
  EXPECT_TRUE(parse("[]").empty());
  EXPECT_ERROR(parse(R"({"a": 1})"), "file:3: turns: expected a list, got ");
  EXPECT_ERROR(parse(R"(["a", 7])"), "file:3: turn 2: expected a text or an object, got 7");
  EXPECT_ERROR(parse(R"([{"text": "a"}])"), "file:3: turn 1: expected the member \"speaker\"");
  EXPECT_ERROR(parse(R"([{"speaker": "a", "text": null}])"), "file:3: turn 1: text: expected a text, got null");
  EXPECT_ERROR(parse(R"(["a", {"speaker": "b", "text": "c"}])"), "expected speakers for all turns or for none");
}

TEST(ReadDialogues, NamesTheLineAtFault) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) { return read_dialogues(folder.file("t.jsonl", text), kFormat); };
  const DialoguePairs pairs =
      read("{\"turns\": [\"a\", \"b\", \"c\"]}\n{\"turns\": []}\n{\"turns\": [\"d\", \"e\"]}\n");
  EXPECT_EQ(pairs.lines.target, (std::vector<std::string>{"b", "c", "e"}));
  EXPECT_EQ(pairs.dialogues, (std::vector<int64_t>{0, 0, 2}));
  EXPECT_ERROR(read("{\"turns\": [\"a\", \"b\"]}\n{\"turns\": [\"a\"\n"), "t.jsonl:2");
  EXPECT_ERROR(read("{\"turns\": [\"a\", \"b\"]}\n\n"), "t.jsonl:2: expected {\"turns\": [...]}, got an empty line");
  EXPECT_ERROR(read("[\"a\", \"b\"]\n"), "t.jsonl:1: expected {\"turns\": [...]}, got ");
  EXPECT_ERROR(read("{\"turn\": []}\n"), "t.jsonl:1: expected {\"turns\": [...]}");
  EXPECT_ERROR(read("{\"turns\": [\"a\", {}]}\n"), "t.jsonl:1: turn 2: expected the member");
  EXPECT_ERROR(read("{\"turns\": [\"a\"]}\n"), "expected dialogues with a reply, got none in 1 line");
  EXPECT_ERROR(read(""), "expected dialogues with a reply, got none in 0 lines");
  EXPECT_ERROR(read("{\"turns\": " + std::string(5000, '[') + "\n"), "t.jsonl:1");
  EXPECT_ERROR(read_dialogues(folder.file("t.jsonl", "{\"turns\": [\"a\", \"b\"]}\n"), kFormat, "zoe"),
               "a reply of the speaker zoe");
  EXPECT_TRUE(is_json_lines("a.jsonl.gz"));
  EXPECT_FALSE(is_json_lines("a.json"));
}

// A run on dialogues: the marks are single tokens of the saved vocabulary, the format is stored with the model, and all
// pairs of a dialogue are held out together.
TEST(DialogueTask, LearnsFromJsonLines) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 30; ++i)
    text += R"({"turns": ["a b", "c d", "a c", "d b"]})"
            "\n";
  Recipe recipe = small_recipe(folder.file("run"));
  recipe.task = "dialogue";
  recipe.data = {};
  recipe.data.train = {folder.file("talk.jsonl", text)};
  recipe.data.held_out = 6;
  recipe.data.shared_vocabulary = true;
  recipe.data.filter.max_source = 9;
  recipe.data.filter.truncate = true;
  recipe.source_vocabulary = {.kind = "bpe", .size = 40};
  recipe.target_vocabulary = VocabularyConfig();
  recipe.dialogue.format = {.context_turns = 2, .speakers = {"<me>", "<you>"}};
  recipe.training.steps = 2;
  Silent listener;
  train(recipe, Start::kNew, &listener);
  EXPECT_NE(listener.messages.find("6 pairs of data.train held out"), std::string::npos) << listener.messages;
  const LoadedModel loaded = load_model(recipe.folder, Device::cpu());
  EXPECT_EQ(loaded.config.dialogue.context_turns, 2);
  EXPECT_EQ(loaded.config.dialogue.speakers, recipe.dialogue.format.speakers);
  EXPECT_EQ(loaded.config.max_source, 9);
  for (const std::string& mark : recipe.dialogue.format.symbols()) {
    EXPECT_EQ(loaded.source->encode(mark).size(), 1u) << mark;
    EXPECT_NE(loaded.source->encode(mark).front(), kUnknown) << mark;
  }
  std::vector<std::string> warnings;
  read_recipe(recipe.folder + "/recipe.toml", {}, &warnings);
  EXPECT_TRUE(warnings.empty()) << warnings.front();
}

}  // namespace
}  // namespace fovea
