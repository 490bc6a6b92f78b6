#include "fovea/serve/api.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "fovea/mechanisms.h"
#include "fovea/serve/page.h"

namespace fovea::app {

namespace {

constexpr auto kLook = std::chrono::milliseconds(100);  // how often it is asked whether a client is still there

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Takes the same time wherever they differ.
bool same_key(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

std::string event(std::string_view name, const std::string& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, data);
}

std::string error_json(std::string_view code, const std::string& message) {
  return dump({{"error", {{"code", code}, {"message", message}}}});
}

// What a job ended with, as an ApiError.
ApiError error_of(const Job& job) {
  try {
    std::rethrow_exception(job.error);
  } catch (const ApiError& error) {
    return error;
  } catch (const Error& error) {
    return bad_request(error.what());
  } catch (const std::bad_alloc&) {
    return overloaded("There is not enough memory for this request.");
  } catch (const std::exception& error) {
    return {500, "internal", error.what()};
  }
}

int64_t written(const Job& job) {
  int64_t tokens = 0;
  for (const Translation& t : job.translations) tokens += std::ssize(t.candidates.front().hypothesis.log_probs);
  return tokens;
}

}  // namespace

void Api::describe(Answer& answer, const Hosted& model, const Job& job) {
  answer.model = model.name();
  answer.source_tokens = job.tokens;
  answer.target_tokens = written(job);
  answer.batch = job.together;
}

std::string_view code_of(int status) {
  switch (status) {
    case 400: return "bad_request";
    case 401: return "unauthorized";
    case 404: return "not_found";
    case 405: return "method_not_allowed";
    case 408: return "timeout";
    case 413: return "too_large";
    case 501: return "unsupported";
    case 503: return "overloaded";
    default: return status >= 500 ? "internal" : "bad_request";
  }
}

std::span<const Api::Route> Api::routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "/health", "Whether the server runs.", "", "Health", &Api::health, Route::Kind::kOpen},
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
      {"POST", "/translate", "As LibreTranslate; JSON or a form.", "LibreRequest", "LibreAnswer", &Api::libre_translate,
       Route::Kind::kLibre},
      {"GET", "/languages", "As LibreTranslate.", "", "Languages", &Api::languages, Route::Kind::kLibre},
      {"POST", "/detect", "As LibreTranslate; not supported.", "", "LibreError", &Api::detect, Route::Kind::kLibre},
      {"GET", "/frontend/settings", "As LibreTranslate.", "", "Settings", &Api::settings, Route::Kind::kLibre},
  };
  return kRoutes;
}

std::string_view Api::label_of(const std::string& path) {
  for (const Route& route : routes()) {
    if (route.path == path) return route.path;
  }
  return is_page(path) ? "page" : "other";
}

Answer Api::error_answer(const std::string& path, int status, std::string_view code, const std::string& message) {
  const bool libre = std::any_of(routes().begin(), routes().end(), [&](const Route& route) {
    return route.kind == Route::Kind::kLibre && route.path == path;
  });
  Answer answer{.status = status, .body = libre ? dump({{"error", message}}) : error_json(code, message)};
  if (status == 503) answer.headers.emplace_back("Retry-After", "1");
  if (status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

Answer Api::handle(const Call& call) {
  Answer answer;
  try {
    answer = dispatch(call);
  } catch (const ApiError& error) {
    answer = error_answer(call.path, error.status, error.code, error.what());
  } catch (const std::bad_alloc&) {
    answer = error_answer(call.path, 503, "overloaded", "There is not enough memory for this request.");
  } catch (const Error& error) {
    answer = error_answer(call.path, 400, "bad_request", error.what());
  } catch (const std::exception& error) {
    answer = error_answer(call.path, 500, "internal", error.what());
  }
  if (!options_.cors.empty()) {
    answer.headers.emplace_back("Access-Control-Allow-Origin", options_.cors);
    if (options_.cors != "*") answer.headers.emplace_back("Vary", "Origin");
  }
  return answer;
}

Answer Api::dispatch(const Call& call) {
  if (call.method == "OPTIONS" && !options_.cors.empty()) {
    return {.status = 204,
            .type = "",
            .headers = {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                        {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
                        {"Access-Control-Max-Age", "86400"}}};
  }
  const std::string_view method = call.method == "HEAD" ? "GET" : std::string_view(call.method);
  std::string takes;
  for (const Route& route : routes()) {
    if (route.path != call.path) continue;
    takes += (takes.empty() ? "" : " or ") + std::string(route.method);
    if (route.method != method) continue;
    check_key(call, route);
    return (this->*route.handle)(call);
  }
  if (is_page(call.path)) {
    if (method == "GET") return page_answer(call);
    takes = "GET";
  }
  if (!takes.empty()) {
    throw ApiError(405, "method_not_allowed", fmt::format("{} takes {}, not {}.", call.path, takes, call.method));
  }
  throw ApiError(404, "not_found", fmt::format("There is nothing at {}.", call.path));
}

void Api::check_key(const Call& call, const Route& route) const {
  // LibreTranslate's clients look languages up before they have a key to show.
  const bool open = route.kind == Route::Kind::kOpen || (route.kind == Route::Kind::kLibre && route.method == "GET");
  if (options_.api_key.empty() || open) return;
  std::string given;
  if (call.authorization.starts_with("Bearer ")) given = call.authorization.substr(7);
  if (given.empty() && route.kind == Route::Kind::kLibre) {
    const auto field = call.form.find("api_key");
    if (field != call.form.end()) {
      given = field->second;
    } else if (call.form.empty()) {
      given = Members(call.body).text("api_key");
    }
  }
  if (!same_key(given, options_.api_key)) throw ApiError(401, "unauthorized", "Expected an API key.");
}

const Served& Api::find(const std::string& name) const {
  if (name.empty()) return models_.front();
  std::vector<std::string> names;
  for (const Served& served : models_) {
    if (served.model->name() == name) return served;
    names.push_back(served.model->name());
  }
  throw ApiError(404, "not_found",
                 fmt::format("There is no model \"{}\"; there is {}.", brief(name), fmt::join(names, ", ")));
}

// ---- jobs

void Api::submit(const Served& served, const std::shared_ptr<Job>& job) const {
  job->deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(options_.timeout * 1000));
  served.worker->submit(job);
}

void Api::await(const Call& call, Job& job) const {
  while (!job.wait_done(kLook)) {
    if (Clock::now() >= job.deadline) {
      job.cancel();
      throw timed_out(fmt::format("The answer took longer than {:g} seconds.", options_.timeout));
    }
    if (!call.is_there()) {
      job.cancel();
      throw client_gone();
    }
  }
  if (job.error) throw error_of(job);
  if (job.dropped) throw timed_out(fmt::format("The answer took longer than {:g} seconds.", options_.timeout));
}

Answer Api::translate(const Call& call) {
  const auto begin = Clock::now();
  Members members(call.body);
  const Served& served = find(members.text("model"));
  const Hosted& model = *served.model;
  Wanted wanted;
  const auto job = translate_job(members, model, options_.search, options_.limits, wanted);
  members.finish();
  submit(served, job);
  if (wanted.stream) return stream(served, job, wanted.attention);
  await(call, *job);
  Answer answer{.body = translations_json(model, *job, wanted.attention, milliseconds_since(begin))};
  describe(answer, model, *job);
  return answer;
}

// Tokens as they are decoded. Where another hypothesis of the beam has become the best, what was said after the step
// where they part is taken back.
Answer Api::stream(const Served& served, const std::shared_ptr<Job>& job, bool attention) const {
  Answer answer{.type = "text/event-stream", .headers = {{"X-Accel-Buffering", "no"}}};
  answer.model = served.model->name();
  answer.source_tokens = job->tokens;
  const auto begin = Clock::now();
  const Hosted& model = *served.model;
  answer.stream = [&model, job, attention, begin](const Write& write) {
    const auto said_to = [&](std::string_view name, const std::string& data) {
      const bool there = write(event(name, data));
      if (!there) job->cancel();
      return there;
    };
    const Json start{{"source", source_json(model, job->sources[0])}, {"model", model.name()}};
    if (!said_to("start", dump(start))) return;
    StepRecorder recorder(model.translator().model());
    for (bool done = false; !done;) {
      const std::optional<SearchStep> step = job->wait_step(kLook, done);
      if (!step) {
        // A comment, which clients pass over: it tells whether they are still there.
        if (!done && !write(":\n\n")) return job->cancel();
        if (Clock::now() >= job->deadline) job->cancel();
        continue;
      }
      if (step->step < recorder.steps()) {
        const Json kept{{"step", step->step}, {"end", recorder.characters(step->step)}};
        if (!said_to("revise", dump(kept))) return;
      }
      if (!said_to("token", dump(step_json(step->step, recorder.add(*step), attention)))) return;
    }
    if (job->error || job->dropped) {
      const ApiError error = job->error ? error_of(*job) : timed_out("The answer took too long.");
      said_to("error", error_json(error.code, error.what()));
      return;
    }
    said_to("done", translations_json(model, *job, attention, milliseconds_since(begin)));
  };
  return answer;
}

Answer Api::attention(const Call& call) {
  Members members(call.body);
  const Served& served = find(members.text("model"));
  const Hosted& model = *served.model;
  std::shared_ptr<Job> job;
  if (members.find("target") != nullptr) {
    SearchOptions unused = options_.search;
    members.read(unused);
    job = score_job(members, model, options_.limits, true);
  } else {
    Wanted wanted{.attention = true};
    job = translate_job(members, model, options_.search, options_.limits, wanted);
    if (wanted.is_list || wanted.stream) throw bad_request("attention: expected one text, not streamed.");
  }
  members.finish();
  submit(served, job);
  await(call, *job);
  Answer answer{.body = record_json(model, *job)};
  describe(answer, model, *job);
  return answer;
}

Answer Api::score(const Call& call) {
  Members members(call.body);
  const Served& served = find(members.text("model"));
  if (members.find("target") == nullptr) throw bad_request("target: expected a text, got nothing.");
  const auto job = score_job(members, *served.model, options_.limits, false);
  members.finish();
  submit(served, job);
  await(call, *job);
  Answer answer{.body = score_json(*served.model, *job)};
  describe(answer, *served.model, *job);
  return answer;
}

// ---- about the server

Answer Api::health(const Call&) { return {.body = dump({{"status", "ok"}})}; }

Answer Api::metrics(const Call&) { return {.type = "text/plain; version=0.0.4", .body = metrics_.text()}; }

Answer Api::openapi(const Call&) { return {.body = dump(openapi_json())}; }

Answer Api::models(const Call&) {
  Json list = Json::array();
  for (const Served& served : models_) list.push_back(served.model->json());
  return {.body = dump({{"models", std::move(list)}})};
}

Answer Api::mechanisms(const Call&) { return {.body = dump(mechanisms_json())}; }

}  // namespace fovea::app
