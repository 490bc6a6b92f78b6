// Reads requests: JSON into jobs. answers.h writes their results.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fovea/serve/call.h"
#include "fovea/serve/hosted.h"
#include "fovea/serve/job.h"

namespace fovea::app {

// The limits of a request.
struct Limits {
  int64_t max_text = 20'000;        // characters of all texts together
  int64_t max_pixels = 50'000'000;  // of all pictures together
  static constexpr int64_t kMostBeam = 64, kMostAlternatives = 100, kMostLength = 4096, kMostTexts = 1024,
                           kMostTurns = 1000, kMostImages = 32;
};

// How attention records are written: with every digit, or in a byte for each weight (docs/record.md).
enum class Attention { kNone, kWhole, kCompact };

// Reads the members of a JSON object. finish() throws an error about members that were not read.
class Members {
 public:
  explicit Members(const std::string& body);
  explicit Members(Json json);

  // Null counts as absent.
  const Json* find(std::string_view name);
  std::string text(std::string_view name, std::string_view otherwise = {});
  bool flag(std::string_view name);
  Attention attention(Attention otherwise);
  int64_t count(std::string_view name, int64_t otherwise, int64_t most);
  // One text or a list of them; ApiError when absent.
  std::vector<std::string> texts(std::string_view name, bool* is_list = nullptr);
  // Reads and checks all settings of the search that are present.
  void read(SearchOptions& search);
  void finish() const;

 private:
  Json json_;
  std::vector<std::string> known_;
};

// The error of a member that has the wrong type.
ApiError expected(std::string_view name, std::string_view what, const Json& got);

// ApiError unless a list has 1 to `most` elements; `what` is one of them.
void check_count(std::string_view name, int64_t count, int64_t most, std::string_view what);
// A source that its model tokenises itself.
SharedLine untokenised(std::string text);

// The settings of a request that are not settings of the search.
struct Wanted {
  Attention attention = Attention::kNone;
  bool stream = false, is_list = false;
};

// The settings of a search, what its hypotheses bring with them, and the edits of the model's attention.
SearchOptions read_search(Members& members, const SearchOptions& defaults, const Model& model, Wanted& wanted);
// Adds the begin of another target; ApiError where it would be all of it.
void add_prefix(SearchOptions& search, ForcedPrefix forced, int64_t max_target);

// The `turns` of a conversation as the line that a dialogue model reads.
std::string conversation_line(Members& members, const Hosted& model, const Limits& limits);

// POST /v1/translate, /v1/chat and /v1/attention.
std::shared_ptr<Job> translate_job(Members& members, std::vector<std::string> texts, const Hosted& model,
                                   const SearchOptions& defaults, const Limits& limits, Wanted& wanted);
std::shared_ptr<Job> score_job(Members& members, const std::string& text, const Hosted& model, const Limits& limits,
                               bool capture_weights);
std::shared_ptr<Job> classify_job(Members& members, const Limits& limits, Wanted& wanted);
std::shared_ptr<Job> answer_job(Members& members, const Limits& limits, Wanted& wanted);
// POST /v1/caption: the members are those of JSON, or the fields of a form besides its picture.
Members caption_members(const Call& call);
std::shared_ptr<Job> caption_job(const Call& call, Members& members, const Hosted& model, const SearchOptions& defaults,
                                 const Limits& limits, Wanted& wanted);
// A translation of plain texts without any other settings. With `split_above` the sources of the job are the parts of
// the texts (decode/paragraphs.h).
std::shared_ptr<Job> plain_job(const Hosted& model, std::vector<std::string> texts, const SearchOptions& search,
                               const Limits& limits, int64_t split_above, Offsets offsets = Offsets::kNone);

}  // namespace fovea::app
