#include "fovea/serve/api.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "fovea/mechanisms.h"
#include "fovea/serve/answers.h"
#include "fovea/serve/page.h"

namespace fovea::app {

namespace {

constexpr double kJammed = 5;  // seconds in the queue after which a server is not ready for more

std::string error_json(std::string_view code, const std::string& message) {
  return dump({{"error", {{"code", code}, {"message", message}}}});
}

bool is_local_name(const std::string& host) { return host == "localhost" || host.ends_with(".localhost"); }

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return text;
}

}  // namespace

ApiError api_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ApiError& known) {
    return known;
  } catch (const Error& known) {
    return bad_request(known.what());
  } catch (const std::bad_alloc&) {
    return overloaded("There is not enough memory for this request.");
  } catch (const std::exception& known) {
    return {500, "internal", known.what()};
  }
}

std::string_view code_of(int status) {
  switch (status) {
    case 400: return "bad_request";
    case 401: return "unauthorized";
    case 403: return "forbidden";
    case 404: return "not_found";
    case 405: return "method_not_allowed";
    case 408: return "timeout";
    case 411: return "length_required";
    case 413: return "too_large";
    case 415: return "unsupported_media_type";
    case 429: return "too_many_requests";
    case 431: return "too_large";
    case 501: return "unsupported";
    case 503: return "overloaded";
    default: return status >= 500 ? "internal" : "bad_request";
  }
}

std::span<const Api::Route> Api::routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "/health", "Whether the server is alive.", "", "Health", &Api::health, Route::Kind::kOpen},
      {"GET", "/ready", "Whether the server takes requests: 503 while a model's queue is full or does not move.", "",
       "Health", &Api::ready, Route::Kind::kOpen},
      {"GET", "/metrics", "Counters and histograms for Prometheus.", "", "text/plain", &Api::metrics},
      {"GET", "/openapi.json", "This document.", "", "Document", &Api::openapi},
      {"GET", "/v1/models", "The models that are served; the first is the default.", "", "Models", &Api::models},
      {"GET", "/v1/mechanisms", "Every attention mechanism: name, equation, paper, cost.", "", "Mechanisms",
       &Api::mechanisms},
      {"POST", "/v1/translate",
       "Translate; with n-best lists, attention records, the beam's tree, forced begins and edited attention. With "
       "\"stream\", server-sent events: start, token, revise, done, error.",
       "TranslateRequest", "Translations", &Api::translate},
      {"POST", "/v1/attention", "The attention record of a translation, or of a target that is given.",
       "AttentionRequest", "AttentionAnswer", &Api::attention},
      {"POST", "/v1/score", "How likely a given target is, token by token.", "ScoreRequest", "Score", &Api::score},
      {"POST", "/v1/chat", "The reply to the turns of a conversation; with \"stream\", the events of /v1/translate.",
       "ChatRequest", "Chat", &Api::chat},
      {"POST", "/v1/classify", "The class of a text, or of each text of a list, with the probabilities of all classes.",
       "ClassifyRequest", "Classifications", &Api::classify},
      {"POST", "/v1/answer", "The answer to a question, or to each of a list, as a part of a passage.", "AnswerRequest",
       "Answers", &Api::answer},
      {"POST", "/v1/caption",
       "The caption of a picture (JPEG, PNG, WebP), or of each picture of a list, with what /v1/translate has of "
       "n-best lists, attention records, forced begins and edited attention. JSON with base64, or a multipart form.",
       "CaptionRequest", "Captions", &Api::caption, Route::Kind::kImage},
      {"POST", "/translate", "As LibreTranslate; JSON or a form.", "LibreRequest", "LibreAnswer", &Api::libre_translate,
       Route::Kind::kLibre},
      {"GET", "/languages", "As LibreTranslate.", "", "Languages", &Api::languages, Route::Kind::kLibre},
      {"POST", "/translate_file", "As LibreTranslate: a text or HTML file, uploaded as a multipart form.",
       "FileRequest", "FileAnswer", &Api::translate_file, Route::Kind::kLibre},
      {"POST", "/detect", "As LibreTranslate: the language of a text, among those the models translate from.",
       "DetectRequest", "Detections", &Api::detect, Route::Kind::kLibre},
      {"GET", "/frontend/settings", "As LibreTranslate.", "", "Settings", &Api::settings, Route::Kind::kLibre},
  };
  return kRoutes;
}

std::string_view Api::label_of(const std::string& path) {
  for (const Route& route : routes()) {
    if (route.path == path) return route.path;
  }
  if (path.starts_with(kDownloadPath)) return kDownloadPath;
  return is_page(path) ? "page" : "other";
}

bool Api::takes_images(const std::string& path) {
  return std::any_of(routes().begin(), routes().end(),
                     [&](const Route& route) { return route.kind == Route::Kind::kImage && route.path == path; });
}

Models Api::models() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

void Api::set_models(Models models) {
  const std::lock_guard lock(mutex_);
  models_.swap(models);
}

Answer Api::error_answer(const std::string& path, const ApiError& error) {
  const bool libre = std::any_of(routes().begin(), routes().end(), [&](const Route& route) {
    return route.kind == Route::Kind::kLibre && route.path == path;
  });
  Answer answer{.status = error.status,
                .body = libre ? dump({{"error", error.what()}}) : error_json(error.code, error.what())};
  if (error.status == 429 || error.status == 503) {
    answer.headers.emplace_back("Retry-After", std::to_string(error.retry_after));
  }
  if (error.status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (!error.allow.empty()) answer.headers.emplace_back("Allow", error.allow);
  return answer;
}

Answer Api::complete(Answer answer) const {
  const auto has = [&](std::string_view name) {
    return std::any_of(answer.headers.begin(), answer.headers.end(), [&](const auto& h) { return h.first == name; });
  };
  if (!options_.cors.empty()) {
    answer.headers.emplace_back("Access-Control-Allow-Origin", options_.cors);
    if (options_.cors != "*") answer.headers.emplace_back("Vary", "Origin");
  }
  if (!has("Cache-Control")) answer.headers.emplace_back("Cache-Control", "no-store");
  answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return answer;
}

Reply Api::handle(Call& call) {
  try {
    return dispatch(call);
  } catch (...) {
    return error_answer(call.path, api_error(std::current_exception()));
  }
}

Reply Api::dispatch(Call& call) {
  call.client = call.address;
  check_host_and_origin(call);
  if (call.method == "OPTIONS" && !options_.cors.empty()) {
    return Answer{.status = 204,
                  .type = "",
                  .headers = {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                              {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
                              {"Access-Control-Max-Age", "86400"}}};
  }
  const std::string_view method = call.method == "HEAD" ? "GET" : std::string_view(call.method);
  std::string allow;
  for (const Route& route : routes()) {
    if (route.path != call.path) continue;
    allow += (allow.empty() ? "" : ", ") + std::string(route.method == "GET" ? "GET, HEAD" : route.method);
    if (route.method != method) continue;
    call.client = client_of(call, route);
    if (route.kind != Route::Kind::kOpen) clients_->count_request(call.client);
    const bool json = route.method == "POST" && route.kind != Route::Kind::kLibre;
    // A form's type is what curl -d sends; of a page's script it would be a way around the browser's questions.
    const bool form = route.kind == Route::Kind::kImage && call.content_type == "multipart/form-data";
    const bool fits = call.content_type == "application/json" || form ||
                      (call.origin.empty() &&
                       (call.content_type.empty() || call.content_type == "application/x-www-form-urlencoded"));
    if (json && !fits) {
      throw ApiError(415, "unsupported_media_type",
                     fmt::format("{}: expected Content-Type: application/json{}, got {}.", call.path,
                                 route.kind == Route::Kind::kImage ? " or multipart/form-data" : "",
                                 call.content_type.empty() ? "none" : call.content_type));
    }
    return (this->*route.handle)(call);
  }
  if (call.path.starts_with(kDownloadPath)) {
    if (method == "GET") return download_file(call);
    allow = "GET, HEAD";
  }
  if (is_page(call.path)) {
    if (method == "GET") return page_answer(call);
    allow = "GET, HEAD";
  }
  if (!allow.empty()) {
    ApiError error(405, "method_not_allowed", fmt::format("{} takes {}, not {}.", call.path, allow, call.method));
    error.allow = allow;
    throw error;
  }
  throw ApiError(404, "not_found", fmt::format("There is nothing at {}.", call.path));
}

// A page of another site must not use a server on the user's own machine: neither by its address, which browsers reveal
// by the Origin header, nor by a name that its owner has pointed at this machine.
void Api::check_host_and_origin(const Call& call) const {
  const std::string name =
      lower(call.host.substr(0, call.host.starts_with('[') ? call.host.find(']') + 1 : call.host.find(':')));
  const bool known = std::find(options_.hosts.begin(), options_.hosts.end(), name) != options_.hosts.end();
  const bool local = is_local_name(name) &&
                     std::find(options_.hosts.begin(), options_.hosts.end(), "localhost") != options_.hosts.end();
  // Browsers name a host in every request: one without comes from another program.
  if (!options_.hosts.empty() && !name.empty() && !known && !local) {
    throw forbidden(fmt::format("Host: {} is not a name of this server; --allow-host {} would make it one.",
                                brief(name), brief(name)));
  }
  if (call.origin.empty() || call.method == "GET" || call.method == "HEAD" || call.method == "OPTIONS") return;
  const size_t scheme = call.origin.find("://");
  const bool same = scheme != std::string::npos && lower(call.origin.substr(scheme + 3)) == lower(call.host);
  if (same || options_.cors == "*" || options_.cors == call.origin) return;
  throw forbidden(fmt::format("Pages of {} may not use this server; --cors {} would let them.", brief(call.origin),
                              brief(call.origin)));
}

std::string Api::client_of(const Call& call, const Route& route) const {
  // LibreTranslate's clients look languages up before they have a key to show.
  const bool open = route.kind == Route::Kind::kOpen || (route.kind == Route::Kind::kLibre && route.method == "GET");
  if (options_.keys.empty() || open) return call.address;
  std::string given;
  if (lower(call.authorization.substr(0, 7)) == "bearer ") {
    given =
        call.authorization.substr(std::min(call.authorization.find_first_not_of(' ', 7), call.authorization.size()));
  }
  if (given.empty() && route.kind == Route::Kind::kLibre) {
    const auto field = call.form.find("api_key");
    if (field != call.form.end()) {
      given = field->second;
    } else if (call.form.empty()) {
      given = Members(call.body).text("api_key");
    }
  }
  const std::string* name = options_.keys.find(given);
  if (name == nullptr) throw ApiError(401, "unauthorized", "Expected an API key.");
  return *name;
}

std::shared_ptr<const Served> Api::find(const std::string& name, const std::string& path) const {
  const Models models = this->models();
  std::vector<std::string> there;
  std::shared_ptr<const Served> second;  // serves this path beside its own
  for (const auto& served : models) {
    const Hosted& model = *served->model;
    there.push_back(fmt::format("{} ({})", model.name(), model.task().task));
    if (name.empty() && model.task().path == path) return served;
    if (name.empty() && !second && model.serves(path)) second = served;
    if (name.empty() || model.name() != name) continue;
    if (model.serves(path)) return served;
    throw bad_request(fmt::format("model: {} is a model of the task {}, which {} does not serve; ask {}.", model.name(),
                                  model.task().task, path, model.task().path));
  }
  if (second) return second;
  if (name.empty()) {
    throw bad_request(fmt::format("model: no model here serves {}; there is {}.", path, fmt::join(there, ", ")));
  }
  throw ApiError(404, "not_found",
                 fmt::format("There is no model \"{}\"; there is {}.", brief(name), fmt::join(there, ", ")));
}

// ---- about the server

Reply Api::health(const Call&) { return Answer{.body = dump({{"status", "ok"}})}; }

Reply Api::ready(const Call&) {
  const Models models = this->models();
  if (models.empty()) throw overloaded("The models are not loaded yet.");
  for (const auto& served : models) {
    const double wait = served->worker->longest_wait();
    if (!served->worker->is_full() && wait < kJammed) continue;
    throw overloaded(fmt::format("{}: {} requests are waiting, the first for {:.1f} seconds.", served->model->name(),
                                 served->worker->queued(), wait));
  }
  return Answer{.body = dump({{"status", "ready"}})};
}

Reply Api::metrics(const Call&) { return Answer{.type = "text/plain; version=0.0.4", .body = metrics_.text()}; }

Reply Api::openapi(const Call&) { return Answer{.body = dump(openapi_json())}; }

Reply Api::models(const Call&) {
  Json list = Json::array();
  for (const auto& served : models()) list.push_back(served->model->json());
  return Answer{.body = dump({{"models", std::move(list)}})};
}

Reply Api::mechanisms(const Call&) { return Answer{.body = dump(mechanisms_json())}; }

}  // namespace fovea::app
