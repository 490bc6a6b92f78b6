// What LibreTranslate's clients ask for. A model without languages is "src" to "tgt".
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "decode/options.h"
#include "fovea/serve/answers.h"
#include "fovea/serve/api.h"
#include "fovea/serve/html.h"
#include "text/language.h"
#include "text/utf8.h"

namespace fovea::app {

namespace {

constexpr const char* kAuto = "auto";

std::string source_of(const Hosted& model) {
  return model.about().source_language.empty() ? "src" : model.about().source_language;
}
std::string target_of(const Hosted& model) {
  return model.about().target_language.empty() ? "tgt" : model.about().target_language;
}

std::string name_of(const std::string& code, const Hosted& model) {
  if (code == "src") return model.name() + " (source)";
  if (code == "tgt") return model.name() + " (target)";
  return language_name(code);
}

// A text as the lines that are translated one by one, and the text of their translations.
struct Document {
  std::optional<HtmlText> html;
  std::vector<std::string> lines;

  Document(const std::string& text, bool is_html) {
    if (is_html) {
      html.emplace(text);
      lines = html->texts();
      return;
    }
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  std::string with(const std::vector<std::string>& translated) const {
    return html ? html->with(translated) : fmt::format("{}", fmt::join(translated, "\n"));
  }
};

struct LibreRequest {
  std::vector<std::string> texts;
  bool is_list = false, is_html = false;
  std::string source = kAuto, target;
  int64_t alternatives = 0;
};

std::string field_of(const Call& call, const char* name) {
  const auto found = call.form.find(name);
  return found == call.form.end() ? std::string() : found->second;
}

std::string utf8_field(const Call& call, const char* name) {
  std::string text = field_of(call, name);
  if (find_invalid_utf8(text) != std::string::npos) throw bad_request(fmt::format("{}: expected UTF-8.", name));
  return text;
}

bool is_html_format(const std::string& format) {
  if (format != "text" && format != "html" && !format.empty()) {
    throw bad_request(fmt::format("format: expected text or html, got {}.", brief(format)));
  }
  return format == "html";
}

LibreRequest from_form(const Call& call) {
  LibreRequest request;
  if (!call.form.contains("q")) throw bad_request("Invalid request: missing q parameter");
  request.texts = {utf8_field(call, "q")};
  if (call.form.contains("source")) request.source = field_of(call, "source");
  request.target = field_of(call, "target");
  request.is_html = is_html_format(field_of(call, "format"));
  const std::string count = field_of(call, "alternatives");
  if (count.find_first_not_of("0123456789") != std::string::npos || count.size() > 3) {
    throw bad_request("alternatives: expected a whole number.");
  }
  if (!count.empty()) request.alternatives = std::min<int64_t>(std::stoll(count), Limits::kMostBeam - 1);
  return request;
}

LibreRequest from_json(const Call& call) {
  Members members(call.body);
  LibreRequest request;
  if (members.find("q") == nullptr) throw bad_request("Invalid request: missing q parameter");
  request.texts = members.texts("q", &request.is_list);
  request.source = members.text("source", kAuto);
  request.target = members.text("target");
  request.alternatives = members.count("alternatives", 0, Limits::kMostBeam - 1);
  request.is_html = is_html_format(members.text("format", "text"));
  return request;
}

// The n-th best translation of each line, where there are as many; nothing where no line has them.
std::optional<std::string> nth_best(const Document& document, const Job& job, size_t first, size_t n) {
  std::vector<std::string> lines;
  bool any = n == 0;
  for (size_t i = first; i < first + document.lines.size(); ++i) {
    const auto candidates = job.translate().whole(i).candidates;
    any = any || n < candidates.size();
    lines.push_back(candidates[std::min(n, candidates.size() - 1)].text);
  }
  if (!any) return std::nullopt;
  return document.with(lines);
}

Json detection_json(const Detection& detection) {
  return {{"confidence", std::round(detection.confidence * 1000) / 10}, {"language", detection.language}};
}

std::vector<std::string> lines_of(const std::vector<Document>& documents) {
  std::vector<std::string> lines;
  for (const Document& d : documents) lines.insert(lines.end(), d.lines.begin(), d.lines.end());
  if (lines.empty()) lines.emplace_back();  // markup without a text
  return lines;
}

}  // namespace

Models Api::translating() const {
  Models found = models();
  std::erase_if(found, [](const auto& served) { return !served->model->task().between_languages; });
  return found;
}

std::vector<std::string> Api::source_languages() const {
  std::vector<std::string> codes;
  for (const auto& served : translating()) {
    const std::string& code = served->model->about().source_language;
    if (!code.empty() && std::find(codes.begin(), codes.end(), code) == codes.end()) codes.push_back(code);
  }
  return codes;
}

std::shared_ptr<const Served> Api::find_languages(const std::string& source, const std::string& target,
                                                  const std::string& text) const {
  const bool detects = source.empty() || source == kAuto;
  std::vector<std::shared_ptr<const Served>> fit;
  std::vector<std::string> codes;
  for (const auto& served : translating()) {
    const Hosted& model = *served->model;
    if (!detects && source != source_of(model)) continue;
    if (!target.empty() && target != target_of(model) && target != model.name()) continue;
    fit.push_back(served);
    codes.push_back(source_of(model));
  }
  if (fit.empty()) {
    throw bad_request(fmt::format("{} to {} is not supported", brief(source), brief(target)));
  }
  const std::string likely = detect_language(text, codes).front().language;
  return fit[static_cast<size_t>(std::find(codes.begin(), codes.end(), likely) - codes.begin())];
}

Reply Api::libre_translate(const Call& call) {
  LibreRequest request = call.form.empty() ? from_json(call) : from_form(call);
  const std::string sample = request.texts.empty() ? "" : request.texts.front().substr(0, 1000);
  const auto served = find_languages(request.source, request.target, sample);
  // Markup is repeated for every alternative, and a byte may take six in JSON.
  int64_t bytes = 0;
  for (const std::string& text : request.texts) bytes += std::ssize(text);
  if (6 * bytes * (request.alternatives + 1) > kMostAnswerBytes) {
    throw too_large(fmt::format("q: expected at most {} bytes with {} alternatives, got {}.",
                                kMostAnswerBytes / 6 / (request.alternatives + 1), request.alternatives, bytes));
  }
  std::vector<Document> documents;
  for (const std::string& text : request.texts) documents.emplace_back(text, request.is_html);
  SearchOptions search = default_search_of(*served);
  search.nbest = request.alternatives + 1;
  search.beam = std::max(search.beam, search.nbest);
  if (request.texts.empty()) throw bad_request("q: expected at least one text, got an empty list.");
  const auto job = plain_job(*served->model, lines_of(documents), search, options_.limits,
                             default_split_above(served->model->translator().model().config));
  Json detected;
  if (request.source == kAuto && !source_languages().empty()) {
    detected = detection_json(detect_language(sample, source_languages()).front());
  }
  return submit(call, served, job,
                [=, request = std::move(request), documents = std::move(documents)](const Job& done) {
                  Json texts = Json::array(), others = Json::array();
                  size_t first = 0;
                  for (const Document& document : documents) {
                    Json alternatives = Json::array();
                    for (int64_t n = 0; n <= request.alternatives; ++n) {
                      const std::optional<std::string> text = nth_best(document, done, first, static_cast<size_t>(n));
                      if (text && n == 0) texts.push_back(*text);
                      if (text && n > 0) alternatives.push_back(*text);
                    }
                    first += document.lines.size();
                    others.push_back(std::move(alternatives));
                  }
                  Json json{{"translatedText", request.is_list ? texts : texts[0]}};
                  if (request.alternatives > 0) json["alternatives"] = request.is_list ? others : others[0];
                  if (!detected.is_null()) json["detectedLanguage"] = detected;
                  return dump(json);
                });
}

Reply Api::translate_file(const Call& call) {
  if (!call.form.contains("file")) throw bad_request("Invalid request: missing file parameter");
  const size_t dot = call.file_name.rfind('.');
  const std::string ending = dot == std::string::npos ? "" : call.file_name.substr(dot);
  const bool is_html = ending == ".html" || ending == ".htm";
  if (!is_html && ending != ".txt") throw bad_request("file: expected a name that ends in .txt, .html or .htm.");
  const std::string text = utf8_field(call, "file");
  const auto served = find_languages(call.form.contains("source") ? field_of(call, "source") : kAuto,
                                     field_of(call, "target"), text.substr(0, 1000));
  std::vector<Document> documents;
  documents.emplace_back(text, is_html);
  const auto job = plain_job(*served->model, lines_of(documents), default_search_of(*served), options_.limits,
                             default_split_above(served->model->translator().model().config));
  std::string name;
  for (const char c : call.file_name.substr(0, std::min<size_t>(dot, 80))) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    name += plain ? c : '_';
  }
  name += "_" + target_of(*served->model) + ending;
  const std::string base = (call.secure ? "https://" : "http://") + call.host;
  return submit(call, served, job, [=, this, documents = std::move(documents)](const Job& done) {
    const std::string type = is_html ? "text/html; charset=utf-8" : "text/plain; charset=utf-8";
    const std::string path = files_.add({name, type, *nth_best(documents[0], done, 0, 0)});
    return dump({{"translatedFileUrl", base + path}});
  });
}

Reply Api::download_file(const Call& call) {
  const auto file = files_.find(call.path);
  if (!file) throw ApiError(404, "not_found", "There is no such file, or not any more.");
  Answer answer{.type = file->type, .body = file->bytes};
  answer.headers = {{"Content-Disposition", fmt::format("attachment; filename=\"{}\"", file->name)},
                    {"Content-Security-Policy", "sandbox; default-src 'none'"}};
  return answer;
}

Reply Api::languages(const Call&) {
  Json list = Json::array();
  const Models models = translating();
  for (const auto& served : models) {
    const std::string source = source_of(*served->model), target = target_of(*served->model);
    const auto found = std::find_if(list.begin(), list.end(), [&](const Json& l) { return l["code"] == source; });
    if (found == list.end()) {
      list.push_back({{"code", source}, {"name", name_of(source, *served->model)}, {"targets", {target}}});
    } else if (std::find((*found)["targets"].begin(), (*found)["targets"].end(), target) == (*found)["targets"].end()) {
      (*found)["targets"].push_back(target);
    }
  }
  // Languages that are only translated into are listed, too: clients look their names up here.
  for (const auto& served : models) {
    const std::string target = target_of(*served->model);
    const auto found = std::find_if(list.begin(), list.end(), [&](const Json& l) { return l["code"] == target; });
    if (found == list.end()) {
      list.push_back({{"code", target}, {"name", name_of(target, *served->model)}, {"targets", Json::array()}});
    }
  }
  return Answer{.body = dump(list)};
}

Reply Api::detect(const Call& call) {
  std::string text = utf8_field(call, "q");
  if (call.form.empty()) text = fmt::format("{}", fmt::join(Members(call.body).texts("q"), "\n"));
  text.resize(std::min<size_t>(text.size(), 10'000));  // more would tell no more
  const std::vector<std::string> codes = source_languages();
  if (codes.empty()) throw bad_request("The models of this server do not say which languages they translate from.");
  Json list = Json::array();
  for (const Detection& detection : detect_language(text, codes)) list.push_back(detection_json(detection));
  return Answer{.body = dump(list)};
}

Reply Api::settings(const Call&) {
  const Models models = translating();
  if (models.empty()) throw bad_request("No model of this server translates.");
  const Hosted& model = *models.front()->model;
  const auto language = [&](const std::string& code) { return Json{{"code", code}, {"name", name_of(code, model)}}; };
  const bool keys = !options_.keys.empty();
  return Answer{
      .body = dump({{"apiKeys", keys},
                    {"charLimit", options_.limits.max_text},
                    {"frontendTimeout", 500},
                    {"keyRequired", keys},
                    {"language", {{"source", language(source_of(model))}, {"target", language(target_of(model))}}},
                    {"suggestions", false},
                    {"supportedFilesFormat", {".txt", ".html", ".htm"}}})};
}

}  // namespace fovea::app
