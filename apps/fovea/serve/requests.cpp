#include "fovea/serve/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "decode/options.h"
#include "fovea/serve/answers.h"
#include "fovea/serve/interventions.h"
#include "tasks/conversation.h"
#include "text/utf8.h"

namespace fovea::app {

namespace {

// The type of a JSON value, for messages.
std::string_view kind_of(const Json& json) {
  return json.is_string()    ? "a text"
         : json.is_boolean() ? "true or false"
         : json.is_number()  ? "a number"
         : json.is_array()   ? "a list"
                             : "an object";
}

Json parse_body(const std::string& body) {
  // No request has more than some thirty different members.
  constexpr JsonLimits kLimits{.members = 100};
  try {
    return parse_json(body, "request body", kLimits);
  } catch (const Error& error) {
    throw bad_request(fmt::format("{}.", error.what()));
  }
}

Field::Value value_of(std::string_view name, const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    return json.is_number_unsigned() ? static_cast<int64_t>(std::min(json.get<uint64_t>(), kMost))
                                     : json.get<int64_t>();
  }
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  throw expected(name, "a number, or true or false", json);
}

void check_characters(std::string_view name, std::span<const std::string> texts, const Limits& limits,
                      int64_t already = 0) {
  int64_t total = already;
  for (const std::string& text : texts) total += count_code_points(text);
  if (total > limits.max_text) {
    throw too_large(fmt::format("{}: expected at most {} characters, got {}.", name, limits.max_text, total));
  }
}

void check_texts(const std::vector<std::string>& texts, const Limits& limits) {
  check_count("text", std::ssize(texts), Limits::kMostTexts, "text");
  check_characters("text", texts, limits);
}

void check_search(const SearchOptions& search) {
  if (search.beam > Limits::kMostBeam || (search.sample && search.nbest > Limits::kMostBeam)) {
    throw bad_request(fmt::format("beam: expected at most {}.", Limits::kMostBeam));
  }
  if (search.max_length > Limits::kMostLength) {
    throw bad_request(fmt::format("max_length: expected at most {}.", Limits::kMostLength));
  }
  try {
    check_options(search);
  } catch (const Error& error) {
    throw bad_request(error.what());
  }
}

}  // namespace

ApiError expected(std::string_view name, std::string_view what, const Json& got) {
  return bad_request(fmt::format("{}: expected {}, got {}.", name, what, kind_of(got)));
}

void check_count(std::string_view name, int64_t count, int64_t most, std::string_view what) {
  if (count == 0) throw bad_request(fmt::format("{}: expected at least one {}, got an empty list.", name, what));
  if (count > most) throw too_large(fmt::format("{}: expected at most {} {}s, got {}.", name, most, what, count));
}

SharedLine untokenised(std::string text) {
  return std::make_shared<const TokenisedLine>(TokenisedLine{.text = std::move(text)});
}

Members::Members(const std::string& body) : Members(parse_body(body)) {}

Members::Members(Json json) : json_(std::move(json)) {
  if (!json_.is_object()) throw bad_request(fmt::format("Expected a JSON object, got {}.", kind_of(json_)));
}

const Json* Members::find(std::string_view name) {
  known_.emplace_back(name);
  const auto found = json_.find(std::string(name));
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

std::string Members::text(std::string_view name, std::string_view otherwise) {
  const Json* json = find(name);
  if (json == nullptr) return std::string(otherwise);
  if (!json->is_string()) throw expected(name, "a text", *json);
  return *json;
}

Attention Members::attention(Attention otherwise) {
  const Json* json = find("attention");
  if (json == nullptr || *json == false) return otherwise;
  if (*json == true) return Attention::kWhole;
  if (*json == "compact") return Attention::kCompact;
  throw bad_request(fmt::format("attention: expected true, false or \"compact\", got {}.", brief_value(*json)));
}

bool Members::flag(std::string_view name) {
  const Json* json = find(name);
  if (json != nullptr && !json->is_boolean()) throw expected(name, "true or false", *json);
  return json != nullptr && json->get<bool>();
}

int64_t Members::count(std::string_view name, int64_t otherwise, int64_t most) {
  const Json* json = find(name);
  if (json == nullptr) return otherwise;
  if (!json->is_number_integer()) throw expected(name, "a whole number", *json);
  const auto value = json->get<int64_t>();
  if (value < 0 || value > most) {
    throw bad_request(fmt::format("{}: expected a whole number from 0 to {}, got {}.", name, most, json->dump()));
  }
  return value;
}

std::vector<std::string> Members::texts(std::string_view name, bool* is_list) {
  const Json* json = find(name);
  if (json == nullptr) {
    std::vector<std::string> given;
    for (const auto& [member, value] : json_.items()) given.push_back(member);
    const std::string near = nearest_spelling(name, given);
    throw bad_request(fmt::format("{}: expected a text, got {}.", name,
                                  near.empty() || near == name ? "nothing" : fmt::format("\"{}\"", brief(near))));
  }
  if (is_list != nullptr) *is_list = json->is_array();
  if (json->is_string()) return {*json};
  if (!json->is_array()) throw expected(name, "a text or a list of texts", *json);
  std::vector<std::string> texts;
  for (const Json& one : *json) {
    if (!one.is_string()) throw expected(name, "a list of texts alone", one);
    texts.push_back(one);
  }
  return texts;
}

void Members::read(SearchOptions& search) {
  Fields fields = fields_of(search);
  for (const Field& field : fields.list()) {
    const Json* json = find(field.key());
    if (json == nullptr) continue;
    try {
      fields.find(field.key()).set(value_of(field.key(), *json));
    } catch (const Error& error) {
      throw bad_request(brief(error.what(), 300));
    }
  }
  // Defaults that contradict the request are adapted to it.
  if (find("beam") == nullptr) search.beam = search.sample ? 1 : std::max(search.beam, search.nbest);
  check_search(search);
}

void Members::finish() const {
  for (const auto& [name, value] : json_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string nearest = nearest_spelling(name, known_);
    throw bad_request(fmt::format("\"{}\" is not known here{}", brief(name),
                                  nearest.empty() ? std::string(".") : fmt::format("; \"{}\" is.", nearest)));
  }
}

std::shared_ptr<Job> plain_job(const Hosted& model, std::vector<std::string> texts, const SearchOptions& search,
                               const Limits& limits, int64_t split_above, Offsets offsets) {
  check_texts(texts, limits);
  const Translator& translator = model.translator();
  Job::Translate request;
  request.search = search;
  std::vector<SharedLine> sources;  // one by one: connections have no threads to spare
  for (std::string& text : texts) {
    if (split_above == 0) {
      sources.push_back(translator.tokenise_source(std::move(text), offsets));
      continue;
    }
    std::vector<TextPart> parts = split_text(text, split_above, translator);
    const size_t first = sources.size();
    for (const auto& [begin, end] : parts) {
      sources.push_back(translator.tokenise_source(text.substr(begin, end - begin), offsets));
    }
    request.texts.push_back({std::move(text), std::move(parts), first});
  }
  return std::make_shared<Job>(std::move(sources), std::move(request));
}

SearchOptions read_search(Members& members, const SearchOptions& defaults, const Model& model, Wanted& wanted) {
  SearchOptions search = defaults;
  members.read(search);
  wanted.attention = members.attention(wanted.attention);
  const bool attention = wanted.attention != Attention::kNone;
  search.capture_weights = attention;
  search.alternatives = members.count("alternatives", attention || wanted.stream ? 5 : 0, Limits::kMostAlternatives);
  search.edits = read_edits(members, model);
  return search;
}

void add_prefix(SearchOptions& search, ForcedPrefix forced, int64_t max_target) {
  const int64_t most = smaller_limit(std::min(search.max_length, Limits::kMostLength), max_target);
  if (std::ssize(forced) >= most) {
    throw bad_request(fmt::format("prefix: expected fewer than {} tokens, got {}.", most, forced.size()));
  }
  search.prefixes.push_back(std::move(forced));
  check_search(search);
}

std::shared_ptr<Job> translate_job(Members& members, std::vector<std::string> texts, const Hosted& model,
                                   const SearchOptions& defaults, const Limits& limits, Wanted& wanted) {
  wanted.stream = members.flag("stream");
  const SearchOptions search = read_search(members, defaults, *model.translator().model().model, wanted);
  const bool tree = members.flag("tree");
  const WrittenPrefix prefix = read_prefix(members);
  const bool tokens = wanted.attention != Attention::kNone || wanted.stream;
  // What refers to the tokens of a text as a whole needs it whole.
  const bool whole = wanted.stream || tree || !prefix.empty() || !search.edits.empty();
  int64_t split_above = 0;
  if (model.task().between_languages) {
    const int64_t usual = whole || tokens ? 0 : default_split_above(model.translator().model().config);
    split_above = members.count("split_above", usual, Limits::kMostLength);
    if (whole && split_above > 0) {
      throw bad_request("split_above: expected 0 with stream, tree, prefix or edits, which need the whole text.");
    }
  }
  const auto job =
      plain_job(model, std::move(texts), search, limits, split_above, tokens ? Offsets::kTokens : Offsets::kNone);
  Job::Translate& request = job->translate();
  check_weights_read(*job, model, wanted.attention);
  if (!prefix.empty()) {
    for (const SharedLine& source : job->sources) {
      add_prefix(request.search, prefix_ids(prefix, model, *source), model.translator().max_target());
    }
  }
  if (wanted.stream && job->sources.size() != 1) throw bad_request("stream: expected one text.");
  if (!search.edits.empty() && job->sources.size() != 1) throw bad_request("edits: expected one text.");
  // Random numbers depend on the index of a sentence in its batch, and edits apply to a whole batch.
  job->alone = search.sample || !search.edits.empty();
  request.wants_steps = wanted.stream;
  request.wants_tree = tree;
  return job;
}

std::shared_ptr<Job> score_job(Members& members, const std::string& text, const Hosted& model, const Limits& limits,
                               bool capture_weights) {
  const Translator& translator = model.translator();
  const std::string target = members.text("target");
  if (text.empty()) throw bad_request("text: expected a text.");
  check_texts({text, target}, limits);
  Job::Score request;
  request.options.capture_weights = capture_weights;
  request.options.alternatives = members.count("alternatives", 5, Limits::kMostAlternatives);
  request.options.edits = read_edits(members, *translator.model().model);
  const bool alone = !request.options.edits.empty();

  const SharedLine source = translator.tokenise_source(text, Offsets::kTokens);
  const int64_t source_tokens = std::ssize(source->ids), max_source = translator.max_source();
  if (source_tokens == 0) throw bad_request("text: expected a text with words.");
  if (source_tokens > max_source) {
    throw too_large(fmt::format("text: expected at most {} tokens, got {}.", max_source, source_tokens));
  }
  request.targets = {translator.tokenise_target(target)};
  const int64_t target_tokens = std::ssize(request.targets[0]->ids) + 1;
  const int64_t most = translator.max_target() > 0 ? translator.max_target() : Limits::kMostLength;
  if (target_tokens > most) {
    throw too_large(fmt::format("target: expected at most {} tokens, got {}.", most - 1, target_tokens - 1));
  }
  auto job = std::make_shared<Job>(std::vector{source}, std::move(request));
  job->alone = alone;
  return job;
}

std::string conversation_line(Members& members, const Hosted& model, const Limits& limits) {
  const Json* json = members.find("turns");
  if (json == nullptr) throw bad_request("turns: expected a list of turns, got nothing.");
  if (!json->is_array()) throw expected("turns", "a list of turns", *json);
  check_count("turns", std::ssize(*json), Limits::kMostTurns, "turn");
  std::vector<Turn> turns;
  try {
    turns = parse_turns(*json, "turns");
  } catch (const Error& error) {
    throw bad_request(fmt::format("{}.", error.what()));
  }
  for (const Json& turn : *json) {
    if (!turn.is_object()) continue;
    Members of_turn(turn);
    for (const char* name : {"speaker", "text"}) of_turn.find(name);
    of_turn.finish();
  }
  std::vector<std::string> texts;
  for (const Turn& turn : turns) texts.push_back(turn.text);
  check_characters("turns", texts, limits);
  const Translator& translator = model.translator();
  Conversation conversation(translator.model().config.dialogue);
  conversation.set(turns);
  std::string line = conversation.source(*translator.model().source, translator.max_source());
  if (line.empty()) throw bad_request("turns: expected a turn with words.");
  return line;
}

std::shared_ptr<Job> classify_job(Members& members, const Limits& limits, Wanted& wanted) {
  wanted.attention = members.attention(wanted.attention);
  std::vector<std::string> texts = members.texts("text", &wanted.is_list);
  check_texts(texts, limits);
  std::vector<SharedLine> sources;
  for (std::string& text : texts) sources.push_back(untokenised(std::move(text)));
  Job::Classify request;
  request.options.capture_weights = wanted.attention != Attention::kNone;
  return std::make_shared<Job>(std::move(sources), std::move(request));
}

std::shared_ptr<Job> answer_job(Members& members, const Limits& limits, Wanted& wanted) {
  wanted.attention = members.attention(wanted.attention);
  Job::Read request;
  request.options.capture_weights = wanted.attention != Attention::kNone;
  request.options.nbest = members.count("nbest", 1, Limits::kMostBeam);
  if (request.options.nbest < 1) throw bad_request("nbest: expected at least 1.");
  if (members.find("passage") == nullptr) throw bad_request("passage: expected a text, got nothing.");
  std::string passage = members.text("passage");
  request.questions = members.texts("question", &wanted.is_list);
  check_count("question", std::ssize(request.questions), Limits::kMostTexts, "question");
  check_characters("passage", std::span(&passage, 1), limits);
  check_characters("passage and question", request.questions, limits, count_code_points(passage));
  const auto is_blank = [](const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; };
  if (is_blank(passage)) throw bad_request("passage: expected a text with words.");
  if (std::any_of(request.questions.begin(), request.questions.end(), is_blank)) {
    throw bad_request("question: expected a text with words.");
  }
  // All questions share one copy of the passage.
  std::vector<SharedLine> sources(request.questions.size(), untokenised(std::move(passage)));
  return std::make_shared<Job>(std::move(sources), std::move(request));
}

}  // namespace fovea::app
