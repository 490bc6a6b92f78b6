// The engine as a page calls it: models of the module's file system, and the API of `fovea serve` by paths and bodies.
// There is one thread. Answers go to two functions of the module: onHead(status, type) once, then onBody(bytes) for
// each part.
#include <emscripten.h>

#include "base/error.h"
#include "fovea/serve/api.h"

EM_JS(void, send_head, (int status, const char* type), { Module.onHead(status, UTF8ToString(type)); });
EM_JS(void, send_body, (const char* bytes, size_t count), { Module.onBody(HEAPU8.slice(bytes, bytes + count)); });

namespace fovea::app {

namespace {

constexpr double kTimeout = 600;       // seconds: nobody else waits
constexpr int64_t kMaxCost = 200'000;  // of a request, in target tokens times the beam, as in `fovea serve`

struct Engine {
  Metrics metrics;
  Cores cores{1};
  Api api{ApiOptions{.clients = {.max_cost = kMaxCost, .max_client_cost = 2 * kMaxCost}, .timeout = kTimeout}, metrics};
};
Engine& engine() {
  static Engine it;
  return it;
}

void send(const std::string& text) {
  if (!text.empty()) send_body(text.data(), text.size());
}

void send(const Answer& answer) {
  send_head(answer.status, answer.type.c_str());
  send(answer.body);
}

// Decodes the job of a call; a stream is sent step by step.
void answer(Work& work, const std::function<void()>& decode, std::function<void()>& notified) {
  if (!work.streams) {
    decode();
    return send(work.finish());
  }
  const auto send_steps = [&work] {
    while (const std::optional<SearchStep> step = work.job->next_step()) send(work.step(*step));
  };
  send_head(200, "text/event-stream");
  send(work.start());
  notified = send_steps;
  decode();
  notified = nullptr;
  send_steps();
  send(work.finish().body);
}

void load(const std::string& folder) {
  Engine& e = engine();
  Models models = e.api.models();
  std::vector<std::string> folders;
  for (const auto& served : models) folders.push_back(served->model->name());
  folders.push_back(folder);
  const auto served = std::make_shared<Served>();
  served->model = std::make_unique<Hosted>(names_of(folders).back(), folder, TranslatorOptions{});
  served->worker = std::make_unique<Worker>(*served->model, WorkerOptions{.threads = 0}, e.cores, e.metrics,
                                            [](int64_t) { return false; });
  models.push_back(served);
  e.api.set_models(std::move(models));
}

void call(const char* method, const char* path, const char* body) {
  Engine& e = engine();
  const auto notified = std::make_shared<std::function<void()>>();
  Call request{.method = method, .path = path, .body = body, .content_type = "application/json"};
  request.notify = [notified] {
    if (*notified) (*notified)();
  };
  Reply reply = e.api.handle(request);
  if (const auto* ready = std::get_if<Answer>(&reply)) return send(*ready);
  const auto decode = [&] {
    for (const auto& served : e.api.models()) served->worker->decode_queued();
  };
  answer(std::get<Work>(reply), decode, *notified);
}

}  // namespace

}  // namespace fovea::app

extern "C" {

// Loads a model folder. Returns why it cannot be loaded, or an empty text.
EMSCRIPTEN_KEEPALIVE const char* fovea_load(const char* folder) {
  static std::string error;
  error.clear();
  try {
    fovea::app::load(folder);
  } catch (const std::exception& failed) {
    error = failed.what();
  }
  return error.c_str();
}

// Answers a request of the API, as `fovea serve` would.
EMSCRIPTEN_KEEPALIVE void fovea_call(const char* method, const char* path, const char* body) {
  fovea::app::call(method, path, body);
}

}  // extern "C"
