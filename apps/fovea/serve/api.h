// The API: its paths and what each does. A handler turns JSON into a job and says how the job's result is written as
// JSON.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "fovea/flags.h"
#include "fovea/serve/call.h"
#include "fovea/serve/clients.h"
#include "fovea/serve/files.h"
#include "fovea/serve/hosted.h"
#include "fovea/serve/keys.h"
#include "fovea/serve/metrics.h"
#include "fovea/serve/requests.h"
#include "fovea/serve/worker.h"

namespace fovea::app {

struct ApiOptions {
  Limits limits;
  ClientLimits clients;
  double timeout = 30;  // seconds
  Keys keys;
  std::string cors;                // the origin whose pages may use the API; * for any
  std::vector<std::string> hosts;  // the names that requests may be addressed to; empty: any
  SearchFlags search;              // defaults for what a request leaves out, beside those of the model's task
};

// A model with the threads that run it. The worker ends before the model does.
struct Served {
  std::unique_ptr<Hosted> model;
  std::unique_ptr<Worker> worker;
};
using Models = std::vector<std::shared_ptr<const Served>>;

class Api {
 public:
  Api(const ApiOptions& options, Metrics& metrics)
      : options_(options), metrics_(metrics), clients_(std::make_shared<Clients>(options.clients)) {}

  // `openapi_json` and the dispatch walk these.
  struct Route {
    std::string_view method, path, summary;
    std::string_view request, answer;  // schemas; an answer may be a content type instead
    Reply (Api::*handle)(const Call& call);
    enum class Kind {
      kPlain,
      kOpen,   // without a key
      kLibre,  // as LibreTranslate: its errors, the key in the body, no key for GET
      kImage,  // JSON or a multipart form; a body may be as large as that of pictures
    } kind = Kind::kPlain;
  };
  static std::span<const Route> routes();

  Models models() const;
  void set_models(Models models);  // requests under way keep the models they began with

  // Never throws; sets the call's client.
  Reply handle(Call& call);
  // The route's path, for counting; "other" for anything else.
  static std::string_view label_of(const std::string& path);
  static bool takes_images(const std::string& path);
  // An error in the form that the path's clients expect.
  static Answer error_answer(const std::string& path, const ApiError& error);
  // With the headers that all answers have.
  Answer complete(Answer answer) const;

 private:
  Reply health(const Call& call);
  Reply ready(const Call& call);
  Reply metrics(const Call& call);
  Reply openapi(const Call& call);
  Reply models(const Call& call);
  Reply mechanisms(const Call& call);
  Reply translate(const Call& call);
  Reply attention(const Call& call);
  Reply score(const Call& call);
  Reply chat(const Call& call);
  Reply classify(const Call& call);
  Reply answer(const Call& call);
  Reply caption(const Call& call);
  Reply libre_translate(const Call& call);
  Reply translate_file(const Call& call);
  Reply download_file(const Call& call);
  Reply languages(const Call& call);
  Reply detect(const Call& call);
  Reply settings(const Call& call);

  Reply dispatch(Call& call);
  void check_host_and_origin(const Call& call) const;
  std::string client_of(const Call& call, const Route& route) const;  // ApiError without a key that is needed
  // The model that a request to this path is for: the one of that name, or the first of the fitting task.
  std::shared_ptr<const Served> find(const std::string& name, const std::string& path) const;
  std::shared_ptr<const Served> find_languages(const std::string& source, const std::string& target,
                                               const std::string& text) const;
  Models translating() const;                         // the models that LibreTranslate's clients may ask for
  std::vector<std::string> source_languages() const;  // of these
  SearchOptions default_search_of(const Served& served) const;
  // Queues the job; once it is done, its result is written by `write`.
  Work submit(const Call& call, const std::shared_ptr<const Served>& served, std::shared_ptr<Job> job,
              std::function<std::string(const Job&)> write) const;
  // The same, or a stream of the tokens with the result as its last event, for a job that writes text.
  using Written = std::function<std::string(const Hosted&, const Job&, Attention, double milliseconds)>;
  Work submit_or_stream(const Call& call, const std::shared_ptr<const Served>& served, const std::shared_ptr<Job>& job,
                        const Wanted& wanted, const Written& write) const;
  // Submits a job of a model that reads and does not write text.
  using MakeJob = std::shared_ptr<Job>(Members&, const Limits&, Wanted&);
  Reply predict(const Call& call, MakeJob* make, const Written& write) const;
  Work stream(const Call& call, const std::shared_ptr<const Served>& served, const std::shared_ptr<Job>& job,
              const Wanted& wanted, const Written& write) const;

  ApiOptions options_;
  Metrics& metrics_;
  std::shared_ptr<Clients> clients_;
  TranslatedFiles files_;
  mutable std::mutex mutex_;  // guards models_
  Models models_;
};

// OpenAPI 3.1, from the routes and the settings of a search.
Json openapi_json();

}  // namespace fovea::app
