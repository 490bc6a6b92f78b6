// fovea serve: models over HTTP.
#include <fmt/format.h>
#include <algorithm>

#include <memory>

#include "base/error.h"
#include "base/signals.h"
#include "base/threads.h"
#include "fovea/commands.h"
#include "fovea/flags.h"
#include "fovea/serve/http_server.h"
#include "store/shipped.h"
#include "store/task_names.h"

namespace fovea::app {

namespace {

struct ServeFlags {
  std::vector<std::string> models, hosts;
  HttpOptions http;
  ApiOptions api;
  std::string api_key, api_keys;
  TranslatorOptions translator;
  int64_t max_queue = 256;
  double batch_wait_ms = 1;
  int threads = 0;
  std::string log = "text";
};

bool is_loopback(const std::string& host) { return host.starts_with("127.") || host == "::1" || host == "localhost"; }

// A page of another site could reach a server on the user's own machine by a name that its owner has pointed there.
std::vector<std::string> allowed_hosts(const ServeFlags& flags) {
  std::vector<std::string> names = flags.hosts;
  const std::string& host = flags.http.host;
  const bool bracketed = host.find(':') != std::string::npos;
  if (is_loopback(host) || !names.empty()) {
    names.insert(names.end(), {"localhost", "127.0.0.1", "[::1]", bracketed ? "[" + host + "]" : host});
  }
  return names;
}

Keys keys_of(const ServeFlags& flags) {
  Keys keys;
  if (!flags.api_key.empty()) keys.add("key", flags.api_key);
  if (!flags.api_keys.empty()) keys.read(flags.api_keys);
  return keys;
}

int serve(ServeFlags flags) {
  if (flags.models.empty()) {
    flags.models = shipped_models();
    // The first model is the one that the page shows first.
    std::stable_partition(flags.models.begin(), flags.models.end(),
                          [](const std::string& folder) { return is_text_to_text(task_of_model(folder)); });
  }
  check(!flags.models.empty(), "serve: expected --model, because no shipped model is found");
  for (std::string& model : flags.models) model = find_model(model);
  flags.api.keys = keys_of(flags);
  flags.api.hosts = allowed_hosts(flags);
  flags.api.clients.max_client_cost = 2 * flags.api.clients.max_cost;
  const Log log(flags.log);
  Metrics metrics;
  Api api(flags.api, metrics);
  HttpServer server(api, flags.http, metrics, log);
  Cores cores(flags.threads > 0 ? flags.threads : thread_count());
  const std::vector<std::string> names = names_of(flags.models);
  const auto load = [&] {
    Models models;
    for (size_t i = 0; i < names.size(); ++i) {
      auto served = std::make_shared<Served>();
      served->model = std::make_unique<Hosted>(names[i], flags.models[i], flags.translator);
      const WorkerOptions options{
          .max_queue = flags.max_queue,
          .batch_tokens = flags.translator.batch_tokens > 0 ? flags.translator.batch_tokens : kBatchTokens,
          .batch_wait = std::chrono::microseconds(static_cast<int64_t>(flags.batch_wait_ms * 1000))};
      served->worker = std::make_unique<Worker>(*served->model, options, cores, metrics,
                                                [&](int64_t taken) { return server.active() > taken; });
      models.push_back(std::move(served));
    }
    api.set_models(std::move(models));
  };
  const auto stop = [&] {
    log.event("stopping: finishing the requests under way");
    server.stop();
  };
  const auto reload = [&] {
    try {
      load();
      log.event(fmt::format("reloaded {}", fmt::join(names, ", ")));
    } catch (const std::exception& error) {
      log.event(fmt::format("cannot reload, the models stay as they are: {}", error.what()));
    }
  };
  const Signals signals(stop, reload);

  load();
  for (size_t i = 0; i < names.size(); ++i) {
    metrics.add_gauge("fovea_queue_requests", "Requests that wait.", fmt::format("model=\"{}\"", names[i]),
                      [&api, i] { return api.models()[i]->worker->queued(); });
  }
  metrics.add_gauge("fovea_connections", "Connections that are open.", "", [&] { return server.connections(); });

  const std::string url = server.bind();
  fmt::print("serving {} on {}\n", fmt::join(names, ", "), url);
  std::fflush(stdout);
  server.run();
  for (const auto& served : api.models()) served->worker->stop();
  log.event("stopped");
  return kDone;
}

// Each flag may be set by an environment variable: --max-queue by FOVEA_MAX_QUEUE.
void add_environment(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (names.empty() || names.front() == "help") continue;
    std::string variable = "FOVEA_" + names.front();
    for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    option->envname(variable);
  }
}

}  // namespace

void add_serve(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("serve", "Serve models over HTTP: an API, and a page that shows attention.");
  const auto flags = std::make_shared<ServeFlags>();
  flags->api.clients.max_cost = 200'000;
  command
      ->add_option("-m,--model", flags->models,
                   "A model folder or the name of a shipped model; several may be given. Default: all shipped models.")
      ->type_name("DIR");
  command
      ->add_option("--host", flags->http.host,
                   "The address to listen on; 0.0.0.0 for all interfaces, unix:PATH for a Unix socket.")
      ->capture_default_str();
  command->add_option("--port", flags->http.port, "The port to listen on; 0 for any free one.")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->add_option("--log", flags->log, "Log each request to standard error in this format.")
      ->check(CLI::IsMember({"text", "json", "off"}))
      ->capture_default_str();
  const auto access = [&](const std::string& name, auto& value, const std::string& help, const std::string& type) {
    command->add_option(name, value, help)->type_name(type)->group("Access");
  };
  access("--api-key", flags->api_key, "Require this key on every request: Authorization: Bearer KEY.", "KEY");
  access("--api-keys", flags->api_keys, "Require one of the keys in this file; each line has a name and a key.",
         "FILE");
  access("--cors", flags->api.cors, "Let pages of this origin use the API; * for any.", "ORIGIN");
  access("--allow-host", flags->hosts,
         "Accept requests addressed to this host name. A server on a loopback address otherwise accepts its own names "
         "only.",
         "NAME");
  command
      ->add_flag("--behind-proxy", flags->http.behind_proxy,
                 "Take the client's address from X-Forwarded-For, as a reverse proxy sets it.")
      ->group("Access");
  const auto limit = [&](const std::string& name, int64_t& value, double least, const std::string& help) {
    command->add_option(name, value, help)->check(at_least(least))->capture_default_str()->group("Limits");
  };
  limit("--max-queue", flags->max_queue, 1, "Maximum number of requests waiting for a model (503).");
  limit("--max-body", flags->http.max_body, 1, "Maximum size of a request body in bytes (413).");
  limit("--max-image-body", flags->http.max_image_body, 1,
        "Maximum size of the body of a request with pictures in bytes (413).");
  limit("--max-pixels", flags->api.limits.max_pixels, 1,
        "Maximum number of pixels in the pictures of a request (413).");
  limit("--max-text", flags->api.limits.max_text, 1, "Maximum number of characters in the texts of a request (413).");
  limit(
      "--max-cost", flags->api.clients.max_cost, 1,
      "Maximum decoding cost of a request, in target tokens times beam size (413); a client's requests in progress may "
      "cost twice as much (429).");
  limit("--rate-limit", flags->api.clients.requests_per_minute, 0,
        "Maximum number of requests per minute for each API key or address (429); 0 for no limit.");
  limit("--max-connections", flags->http.max_connections, 1,
        "Maximum number of open connections; at the limit, idle ones are closed for new ones.");
  limit("--max-connections-per-address", flags->http.max_per_address, 1,
        "Maximum number of open connections from one address.");
  const auto time = [&](const std::string& name, double& value, double least, const std::string& help) {
    command->add_option(name, value, help)->check(at_least(least))->capture_default_str()->group("Limits");
  };
  time("--timeout", flags->api.timeout, 0.001,
       "Time limit in seconds for a request to arrive, and for its answer (408).");
  time("--grace", flags->http.grace, 0, "Seconds that requests in progress have to finish when the server is stopped.");
  command
      ->add_option("--batch-wait-ms", flags->batch_wait_ms, "Milliseconds to wait for requests to share a batch with.")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str()
      ->group("Running");
  command->add_option("--threads", flags->threads, "Number of CPU threads, shared by all models; 0 for all cores.")
      ->check(at_least(0))
      ->group("Running");
  add_flags(*command, flags->translator, "Running");
  flags->api.search.add_to(*command, search_group("Decoding defaults, for what a request leaves out"));
  add_environment(*command);
  command->footer(
      "  fovea serve -m runs/dates\n"
      "  curl localhost:8080/v1/translate -d '{\"text\": \"the 3rd of may 1986\"}'\n"
      "SIGHUP reloads the models; SIGTERM stops the server once the requests under way are answered.\n"
      "docs/serving.md describes the API; GET /openapi.json has it for programs.");
  command->callback([flags, &run] {
    flags->http.timeout = flags->api.timeout;
    run = [flags] { return serve(*flags); };
  });
}

}  // namespace fovea::app
