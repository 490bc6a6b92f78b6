// The paths that give a model work: each reads a job from JSON, queues it, and says how its result is written.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "fovea/serve/answers.h"
#include "fovea/serve/api.h"

namespace fovea::app {

namespace {

constexpr std::string_view kChatPath = "/v1/chat";

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::string event(std::string_view name, const std::string& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, data);
}

// The error that a job ended with, if it did.
std::optional<ApiError> error_of(const Job& job, double timeout) {
  if (job.is_done() && job.error) return api_error(job.error);
  if (!job.is_done() || job.dropped) {
    return timed_out(fmt::format("The answer took longer than {:g} seconds.", timeout));
  }
  return std::nullopt;
}

// Tokens of the best hypotheses.
int64_t written(const Job& job) {
  int64_t tokens = 0;
  const auto add = [&](const auto& results) {
    for (const auto& result : results) tokens += std::ssize(result.candidates.front().hypothesis.log_probs);
  };
  if (const auto* translate = std::get_if<Job::Translate>(&job.kind)) add(translate->translations);
  if (const auto* caption = std::get_if<Job::Caption>(&job.kind)) add(caption->captions);
  return tokens;
}

// For the log.
void describe(Answer& answer, const Hosted& model, const Job& job) {
  answer.model = model.name();
  answer.source_tokens = job.size_sum.tokens;
  if (job.is_done() && !job.error && !job.dropped) answer.target_tokens = written(job);
  answer.batch = job.together;
}

}  // namespace

SearchOptions Api::default_search_of(const Served& served) const {
  const FolderConfig* config = served.model->config();
  return config != nullptr ? options_.search.for_model(*config) : options_.search.for_task(served.model->task().task);
}

Work Api::submit(const Call& call, const std::shared_ptr<const Served>& served, std::shared_ptr<Job> job,
                 std::function<std::string(const Job&)> write) const {
  job->prepare(served->model->max_source());
  job->client = call.client;
  job->reservation = clients_->reserve(call.client, job->size_sum.cost);
  job->deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(options_.timeout * 1000));
  job->notify = call.notify;
  served->worker->submit(job);
  Work work{.job = job};
  work.finish = [served, job, write = std::move(write), path = call.path, timeout = options_.timeout] {
    Answer answer;
    try {
      if (const std::optional<ApiError> error = error_of(*job, timeout)) throw *error;
      answer.body = write(*job);
    } catch (...) {
      answer = error_answer(path, api_error(std::current_exception()));
    }
    describe(answer, *served->model, *job);
    return answer;
  };
  return work;
}

Reply Api::translate(const Call& call) {
  Members members(call.body);
  const auto served = find(members.text("model"), call.path);
  Wanted wanted;
  std::vector<std::string> texts = members.texts("text", &wanted.is_list);
  const auto job =
      translate_job(members, std::move(texts), *served->model, default_search_of(*served), options_.limits, wanted);
  members.finish();
  return submit_or_stream(call, served, job, wanted, translations_json);
}

Reply Api::chat(const Call& call) {
  Members members(call.body);
  const auto served = find(members.text("model"), call.path);
  Wanted wanted;
  const Hosted& model = *served->model;
  const auto job = translate_job(members, {conversation_line(members, model, options_.limits)}, model,
                                 default_search_of(*served), options_.limits, wanted);
  members.finish();
  return submit_or_stream(call, served, job, wanted, chat_json);
}

Reply Api::predict(const Call& call, MakeJob* make, const Written& write) const {
  Members members(call.body);
  const auto served = find(members.text("model"), call.path);
  Wanted wanted;
  const auto job = make(members, options_.limits, wanted);
  members.finish();
  check_weights_read(*job, *served->model, wanted.attention);
  return submit_or_stream(call, served, job, wanted, write);
}

Reply Api::classify(const Call& call) { return predict(call, classify_job, classifications_json); }

Reply Api::answer(const Call& call) { return predict(call, answer_job, answers_json); }

Reply Api::caption(const Call& call) {
  Members members = caption_members(call);
  const auto served = find(members.text("model"), call.path);
  Wanted wanted;
  const auto job = caption_job(call, members, *served->model, default_search_of(*served), options_.limits, wanted);
  members.finish();
  return submit_or_stream(call, served, job, wanted, captions_json);
}

Work Api::submit_or_stream(const Call& call, const std::shared_ptr<const Served>& served,
                           const std::shared_ptr<Job>& job, const Wanted& wanted, const Written& write) const {
  if (wanted.stream) return stream(call, served, job, wanted, write);
  return submit(call, served, job, [served, wanted, write, begin = Clock::now()](const Job& done) {
    return write(*served->model, done, wanted.attention, milliseconds_since(begin));
  });
}

// Tokens as they are decoded. Where another hypothesis of the beam has become the best, the tokens after the step where
// the two part are taken back.
Work Api::stream(const Call& call, const std::shared_ptr<const Served>& served, const std::shared_ptr<Job>& job,
                 const Wanted& wanted, const Written& write) const {
  Work work = submit(call, served, job, [served, wanted, write, begin = Clock::now()](const Job& done) {
    return event("done", write(*served->model, done, wanted.attention, milliseconds_since(begin)));
  });
  work.streams = true;
  work.start = [served, job] {
    const Hosted& model = *served->model;
    return event("start", dump({{"source", source_json(model, *job->sources[0])}, {"model", model.name()}}));
  };
  const auto recorder =
      std::make_shared<StepRecorder>(served->model->translator().models(), job->sources[0]->copied.words);
  const auto sent = std::make_shared<int64_t>(0);
  work.step = [served, recorder, wanted, sent](const SearchStep& step) {
    std::string events;
    if (step.step < recorder->steps()) {
      events = event("revise", dump({{"step", step.step}, {"end", recorder->characters(step.step)}}));
    }
    // Weights that would not fit into an answer are left out of the events, too.
    const Attention attention = *sent < kMostAnswerBytes ? wanted.attention : Attention::kNone;
    events += event("token", dump(step_json(step.step, recorder->add(step), attention)));
    *sent += std::ssize(events);
    return events;
  };
  work.finish = [finish = std::move(work.finish)] {
    Answer answer = finish();
    if (answer.status != 200) answer.body = event("error", answer.body);
    return answer;
  };
  return work;
}

Reply Api::attention(const Call& call) {
  Members members(call.body);
  const auto served = find(members.text("model"), call.path);
  const Hosted& model = *served->model;
  std::shared_ptr<Job> job;
  Wanted wanted{.attention = Attention::kWhole};
  const bool chats = model.serves(kChatPath) && members.find("turns") != nullptr;
  if (members.find("target") != nullptr) {
    SearchOptions unused = default_search_of(*served);
    members.read(unused);
    const std::string text = chats ? conversation_line(members, model, options_.limits) : members.text("text");
    job = score_job(members, text, model, options_.limits, true);
    wanted.attention = members.attention(wanted.attention);
    check_weights_read(*job, model, wanted.attention);
  } else {
    std::vector<std::string> texts = chats ? std::vector{conversation_line(members, model, options_.limits)}
                                           : members.texts("text", &wanted.is_list);
    job = translate_job(members, std::move(texts), model, default_search_of(*served), options_.limits, wanted);
    if (!job->translate().texts.empty())
      throw bad_request("split_above: expected 0, because the record is of one text.");
    if (wanted.is_list || wanted.stream) throw bad_request("attention: expected one text, not streamed.");
  }
  members.finish();
  return submit(call, served, job,
                [served, wanted](const Job& done) { return record_json(*served->model, done, wanted.attention); });
}

Reply Api::score(const Call& call) {
  Members members(call.body);
  const auto served = find(members.text("model"), call.path);
  if (members.find("target") == nullptr) throw bad_request("target: expected a text, got nothing.");
  const auto job = score_job(members, members.text("text"), *served->model, options_.limits, false);
  members.finish();
  return submit(call, served, job, [served](const Job& done) { return score_json(*served->model, done); });
}

}  // namespace fovea::app
