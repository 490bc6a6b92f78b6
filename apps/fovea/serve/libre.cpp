// What LibreTranslate's clients ask for. A model without languages is "src" to "tgt".
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "fovea/serve/api.h"
#include "text/utf8.h"

namespace fovea::app {

namespace {

std::string source_of(const Hosted& model) {
  return model.about().source_language.empty() ? "src" : model.about().source_language;
}
std::string target_of(const Hosted& model) {
  return model.about().target_language.empty() ? "tgt" : model.about().target_language;
}

std::string name_of(const std::string& code, const Hosted& model) {
  static const std::vector<std::pair<std::string, std::string>> names = {
      {"ar", "Arabic"},  {"cs", "Czech"},      {"de", "German"},     {"en", "English"}, {"es", "Spanish"},
      {"fr", "French"},  {"it", "Italian"},    {"ja", "Japanese"},   {"ko", "Korean"},  {"nl", "Dutch"},
      {"pl", "Polish"},  {"pt", "Portuguese"}, {"ro", "Romanian"},   {"ru", "Russian"}, {"sv", "Swedish"},
      {"tr", "Turkish"}, {"uk", "Ukrainian"},  {"vi", "Vietnamese"}, {"zh", "Chinese"}};
  if (code == "src") return model.name() + " (source)";
  if (code == "tgt") return model.name() + " (target)";
  for (const auto& [known, name] : names) {
    if (known == code) return name;
  }
  return code;
}

struct LibreRequest {
  std::vector<std::string> texts;
  bool is_list = false;
  std::string source = "auto", target;
  int64_t alternatives = 0;
};

LibreRequest from_form(const Call& call) {
  const auto field = [&](const char* name) {
    const auto found = call.form.find(name);
    return found == call.form.end() ? std::string() : found->second;
  };
  LibreRequest request;
  if (!call.form.contains("q")) throw bad_request("Invalid request: missing q parameter");
  request.texts = {field("q")};
  if (find_invalid_utf8(request.texts[0]) != std::string::npos) throw bad_request("q: expected UTF-8.");
  if (call.form.contains("source")) request.source = field("source");
  request.target = field("target");
  const std::string format = field("format"), count = field("alternatives");
  if (!format.empty() && format != "text") throw bad_request("format: only text is supported.");
  if (count.find_first_not_of("0123456789") != std::string::npos || count.size() > 3) {
    throw bad_request("alternatives: expected a whole number.");
  }
  if (!count.empty()) request.alternatives = std::stoll(count);
  return request;
}

LibreRequest from_json(const Call& call) {
  Members members(call.body);
  LibreRequest request;
  if (members.find("q") == nullptr) throw bad_request("Invalid request: missing q parameter");
  request.texts = members.texts("q", &request.is_list);
  request.source = members.text("source", "auto");
  request.target = members.text("target");
  request.alternatives = members.count("alternatives", 0, Limits::kMostBeam - 1);
  if (members.text("format", "text") != "text") throw bad_request("format: only text is supported.");
  return request;
}

// Lines are sentences of their own.
std::vector<std::string> lines_of(const std::vector<std::string>& texts, std::vector<size_t>& counts) {
  std::vector<std::string> lines;
  for (const std::string& text : texts) {
    size_t count = 0;
    for (size_t at = 0; at <= text.size(); ++count) {
      const size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    counts.push_back(count);
  }
  return lines;
}

}  // namespace

const Served& Api::find_languages(const std::string& source, const std::string& target) const {
  for (const Served& served : models_) {
    const bool reads = source.empty() || source == "auto" || source == source_of(*served.model);
    if (reads && (target.empty() || target == target_of(*served.model) || target == served.model->name())) {
      return served;
    }
  }
  throw bad_request(fmt::format("{} to {} is not supported", brief(source), brief(target)));
}

Answer Api::libre_translate(const Call& call) {
  const LibreRequest request = call.form.empty() ? from_json(call) : from_form(call);
  const Served& served = find_languages(request.source, request.target);
  std::vector<size_t> counts;
  SearchOptions search = options_.search;
  search.nbest = std::min(request.alternatives + 1, Limits::kMostBeam);
  search.beam = std::max(search.beam, search.nbest);
  const auto job = plain_job(lines_of(request.texts, counts), *served.model, search, options_.limits);
  submit(served, job);
  await(call, *job);

  Json texts = Json::array(), others = Json::array();
  size_t next = 0;
  for (const size_t count : counts) {
    // The n-th best of all lines together, as long as there is one.
    Json ways = Json::array();
    for (size_t n = 0; n <= static_cast<size_t>(request.alternatives); ++n) {
      std::string text;
      bool any = n == 0;
      for (size_t i = next; i < next + count; ++i) {
        const auto& candidates = job->translations[i].candidates;
        any = any || n < candidates.size();
        text += (i > next ? "\n" : "") + candidates[std::min(n, candidates.size() - 1)].text;
      }
      if (any) ways.push_back(text);
    }
    next += count;
    texts.push_back(ways[0]);
    ways.erase(ways.begin());
    others.push_back(std::move(ways));
  }
  Json json{{"translatedText", request.is_list ? texts : texts[0]}};
  if (request.alternatives > 0) json["alternatives"] = request.is_list ? others : others[0];
  Answer answer{.body = dump(json)};
  describe(answer, *served.model, *job);
  return answer;
}

Answer Api::languages(const Call&) {
  Json list = Json::array();
  for (const Served& served : models_) {
    const std::string source = source_of(*served.model), target = target_of(*served.model);
    const auto found = std::find_if(list.begin(), list.end(), [&](const Json& l) { return l["code"] == source; });
    if (found == list.end()) {
      list.push_back({{"code", source}, {"name", name_of(source, *served.model)}, {"targets", {target}}});
    } else if (std::find((*found)["targets"].begin(), (*found)["targets"].end(), target) == (*found)["targets"].end()) {
      (*found)["targets"].push_back(target);
    }
  }
  // What is only translated into is listed, too: clients look its name up here.
  for (const Served& served : models_) {
    const std::string target = target_of(*served.model);
    const auto found = std::find_if(list.begin(), list.end(), [&](const Json& l) { return l["code"] == target; });
    if (found == list.end()) {
      list.push_back({{"code", target}, {"name", name_of(target, *served.model)}, {"targets", Json::array()}});
    }
  }
  return {.body = dump(list)};
}

Answer Api::detect(const Call&) { throw ApiError(501, "unsupported", "Languages are not detected here."); }

Answer Api::settings(const Call&) {
  const Hosted& model = *models_.front().model;
  const auto language = [&](const std::string& code) { return Json{{"code", code}, {"name", name_of(code, model)}}; };
  return {.body = dump({{"apiKeys", !options_.api_key.empty()},
                        {"charLimit", options_.limits.max_text},
                        {"frontendTimeout", 500},
                        {"keyRequired", !options_.api_key.empty()},
                        {"language", {{"source", language(source_of(model))}, {"target", language(target_of(model))}}},
                        {"suggestions", false},
                        {"supportedFilesFormat", Json::array()}})};
}

}  // namespace fovea::app
