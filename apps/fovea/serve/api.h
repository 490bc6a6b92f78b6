// The API: which paths there are, and what each does. Handlers only translate between JSON and jobs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fovea/serve/call.h"
#include "fovea/serve/hosted.h"
#include "fovea/serve/metrics.h"
#include "fovea/serve/requests.h"
#include "fovea/serve/worker.h"

namespace fovea::app {

struct ApiOptions {
  Limits limits;
  double timeout = 30;  // seconds
  std::string api_key, cors;
  SearchOptions search;  // where a request says nothing
};

// A model with the thread that runs it.
struct Served {
  std::unique_ptr<Hosted> model;
  std::unique_ptr<Worker> worker;
};

class Api {
 public:
  Api(std::vector<Served>& models, const ApiOptions& options, Metrics& metrics)
      : models_(models), options_(options), metrics_(metrics) {}

  // What `openapi_json` and the dispatch walk.
  struct Route {
    std::string_view method, path, summary;
    std::string_view request, answer;  // schemas; an answer may be a content type instead
    Answer (Api::*handle)(const Call& call);
    enum class Kind {
      kPlain,
      kOpen,   // without a key
      kLibre,  // as LibreTranslate: its errors, the key in the body, none to GET
    } kind = Kind::kPlain;
  };
  static std::span<const Route> routes();

  Answer handle(const Call& call);
  // The path of a route, for counting; "other" for anything else.
  static std::string_view label_of(const std::string& path);
  // As the path's clients expect it.
  static Answer error_answer(const std::string& path, int status, std::string_view code, const std::string& message);

 private:
  Answer health(const Call& call);
  Answer metrics(const Call& call);
  Answer openapi(const Call& call);
  Answer models(const Call& call);
  Answer mechanisms(const Call& call);
  Answer translate(const Call& call);
  Answer attention(const Call& call);
  Answer score(const Call& call);
  Answer libre_translate(const Call& call);
  Answer languages(const Call& call);
  Answer detect(const Call& call);
  Answer settings(const Call& call);

  static void describe(Answer& answer, const Hosted& model, const Job& job);  // for the log
  Answer dispatch(const Call& call);
  void check_key(const Call& call, const Route& route) const;
  const Served& find(const std::string& name) const;
  const Served& find_languages(const std::string& source, const std::string& target) const;
  void submit(const Served& served, const std::shared_ptr<Job>& job) const;
  void await(const Call& call, Job& job) const;
  Answer stream(const Served& served, const std::shared_ptr<Job>& job, bool attention) const;

  std::vector<Served>& models_;
  ApiOptions options_;
  Metrics& metrics_;
};

// OpenAPI 3.1, from the routes and the settings of a search.
Json openapi_json();

}  // namespace fovea::app
