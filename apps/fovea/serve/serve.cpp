// fovea serve: models over HTTP.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigwait

#include <memory>

#include "base/error.h"
#include "base/threads.h"
#include "fovea/commands.h"
#include "fovea/flags.h"
#include "fovea/serve/http_server.h"
#include "store/shipped.h"

namespace fovea::app {

namespace {

struct ServeFlags {
  std::vector<std::string> models;
  HttpOptions http;
  ApiOptions api;
  TranslatorOptions translator;
  int64_t max_queue = 256;
  double batch_wait_ms = 1;
  int threads = 0;
  std::string log = "text";
};

// Stops the server at the first SIGINT or SIGTERM; at the second, the program.
class Signals {
 public:
  explicit Signals(std::function<void()> stop) {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);  // before other threads begin: they inherit it
    thread_ = std::thread([this, stop = std::move(stop)] {
      int signal = 0;
      sigwait(&set_, &signal);
      if (ended_) return;
      stop();
      sigwait(&set_, &signal);
      if (!ended_) _exit(kInterrupted);
    });
  }
  ~Signals() {
    ended_ = true;
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  sigset_t set_;
  std::thread thread_;
  std::atomic<bool> ended_ = false;
};

int serve(ServeFlags flags) {
  if (flags.models.empty()) flags.models = shipped_models();
  check(!flags.models.empty(), "serve: expected --model, for no shipped model is found");
  for (std::string& model : flags.models) model = find_model(model);
  const Log log(flags.log);
  Metrics metrics;
  std::vector<Served> models;
  Api api(models, flags.api, metrics);
  HttpServer server(api, flags.http, metrics, log);
  const Signals signals([&] {
    log.event("stopping: finishing what was accepted");
    server.stop();
  });

  Cores cores(flags.threads > 0 ? flags.threads : thread_count());
  const std::vector<std::string> names = names_of(flags.models);
  for (size_t i = 0; i < names.size(); ++i) {
    Served& served = models.emplace_back();
    served.model = std::make_unique<Hosted>(names[i], flags.models[i], flags.translator);
    const WorkerOptions options{
        .max_queue = flags.max_queue,
        .batch_tokens = flags.translator.batch_tokens,
        .batch_wait = std::chrono::microseconds(static_cast<int64_t>(flags.batch_wait_ms * 1000))};
    served.worker = std::make_unique<Worker>(names[i], served.model->translator(), options, cores, metrics,
                                             [&](int64_t taken) { return server.connections() > taken; });
    metrics.add_gauge("fovea_queue_requests", "Requests that wait.", fmt::format("model=\"{}\"", names[i]),
                      [worker = served.worker.get()] { return worker->queued(); });
  }
  metrics.add_gauge("fovea_connections", "Connections that are open.", "", [&] { return server.connections(); });

  const int port = server.bind();
  const bool v6 = flags.http.host.find(':') != std::string::npos;
  fmt::print("serving {} on http://{}{}{}:{}\n", fmt::join(names, ", "), v6 ? "[" : "", flags.http.host, v6 ? "]" : "",
             port);
  std::fflush(stdout);
  server.run();
  for (Served& served : models) served.worker->stop();
  log.event("stopped");
  return kDone;
}

}  // namespace

void add_serve(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("serve", "Serve models over HTTP: a page to look at them, and an API.");
  const auto flags = std::make_shared<ServeFlags>();
  command
      ->add_option("-m,--model", flags->models,
                   "A model folder or a shipped model's name; several may be given. Without: all that are shipped.")
      ->type_name("DIR");
  command->add_option("--host", flags->http.host, "The address to listen on; 0.0.0.0 for all.")->capture_default_str();
  command->add_option("--port", flags->http.port, "0 for any that is free.")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->add_option("--api-key", flags->api.api_key, "What requests must bring along: Authorization: Bearer KEY.")
      ->type_name("KEY");
  command->add_option("--cors", flags->api.cors, "The origin whose pages may use the API; * for any.")
      ->type_name("ORIGIN");
  command->add_option("--log", flags->log, "A line for each request, on standard error.")
      ->check(CLI::IsMember({"text", "json", "off"}))
      ->capture_default_str();
  const auto limit = [&](const std::string& name, int64_t& value, const std::string& help) {
    command->add_option(name, value, help)->check(at_least(1))->capture_default_str()->group("Limits");
  };
  limit("--max-queue", flags->max_queue, "Requests of a model that wait; more are told to come back (503).");
  limit("--max-body", flags->http.max_body, "Bytes of a request (413).");
  limit("--max-text", flags->api.limits.max_text, "Characters of a request's texts (413).");
  limit("--max-connections", flags->http.max_connections, "Clients served at the same time; others wait.");
  command->add_option("--timeout", flags->api.timeout, "Seconds that a request or its answer may take (408).")
      ->check(at_least(0.001))
      ->capture_default_str()
      ->group("Limits");
  command->add_option("--batch-wait-ms", flags->batch_wait_ms, "How long a request waits for others to go with.")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str()
      ->group("Running");
  command->add_option("--threads", flags->threads, "To compute with, of all models together; 0 for all cores.")
      ->check(at_least(0))
      ->group("Running");
  add_flags(*command, flags->translator, "Running");
  add_flags(*command, flags->api.search, "Search, where a request does not say");
  command->footer(
      "  fovea serve -m runs/dates\n"
      "  curl localhost:8080/v1/translate -d '{\"text\": \"the 3rd of may 1986\"}'\n"
      "docs/serving.md describes the API; GET /openapi.json has it for programs.");
  command->callback([flags, &run] {
    flags->http.timeout = flags->api.timeout;
    run = [flags] { return serve(*flags); };
  });
}

}  // namespace fovea::app
