#include "bench/decode_peer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>

#include "base/threads.h"
#include "bench/worker.h"
#include "decode/translator.h"

namespace bench {

namespace {

namespace fs = std::filesystem;
using fovea::SharedLine;

constexpr const char* kSearches[] = {"greedy", "beam"};
constexpr int64_t kBeam = 5;
constexpr size_t kOneAtATime = 60;  // sentences, every n-th of the text

// ---- Fovea's side ------------------------------------------------------------------------------

std::vector<SharedLine> sentences_in(const std::string& path) {
  std::ifstream file(path);
  std::vector<SharedLine> sentences;
  for (std::string line; std::getline(file, line);) {
    std::istringstream ids(line);
    auto sentence = std::make_shared<fovea::TokenisedLine>();
    sentence->ids.assign(std::istream_iterator<int32_t>(ids), std::istream_iterator<int32_t>());
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

class Contender {
 public:
  Contender(const std::string& folder, const std::string& precision, bool batches, std::vector<SharedLine> sentences)
      : translator_({folder}, {.precision = precision}), batches_(batches), sentences_(std::move(sentences)) {}

  std::vector<fovea::Translation> translate(int64_t beam) const {
    fovea::SearchOptions options;
    options.beam = beam;
    options.length_penalty = 0;
    if (batches_) return translator_.translate(sentences_, options);
    std::vector<fovea::Translation> all;
    for (const SharedLine& sentence : sentences_) {
      all.push_back(std::move(translator_.translate(std::span(&sentence, 1), options).front()));
    }
    return all;
  }
  // The token ids of all sentences, with a comma after each sentence.
  std::string output(int64_t beam) const {
    std::string text;
    for (const auto& x : translate(beam)) {
      text += fmt::format("{},", fmt::join(x.candidates.front().hypothesis.ids, " "));
    }
    return text;
  }

 private:
  fovea::Translator translator_;
  bool batches_;
  std::vector<SharedLine> sentences_;
};

// ---- the comparison ----------------------------------------------------------------------------

struct Setting {
  std::string work;  // one or batches
  int threads = 1;
  bool avx2 = false;  // only AVX2, on both sides
};

struct Files {
  std::string folder, converted, program;
  std::string every, some, first;  // the ids of all sentences, of kOneAtATime and of the first
};

std::vector<std::string> environment_of(const Setting& setting) {
  if (!setting.avx2) return {};
  // CTranslate2's own variable does not reach the library that computes its GEMMs.
  return {"FOVEA_ISA=avx2", "CT2_FORCE_CPU_ISA=AVX2", "ONEDNN_MAX_CPU_ISA=AVX2", "MKL_ENABLE_INSTRUCTIONS=AVX2"};
}

std::unique_ptr<Worker> start(const Files& files, const Setting& setting, bool ours, const std::string& precision,
                              const std::string& ids) {
  std::vector<std::string> command = {fs::read_symlink("/proc/self/exe"), "--translator", files.folder};
  if (!ours) command = {files.program, files.converted};
  for (const std::string& argument : {precision, std::to_string(setting.threads), setting.work, ids}) {
    command.push_back(argument);
  }
  auto worker = std::make_unique<Worker>(command, environment_of(setting));
  if (worker->name().empty()) wrong(fmt::format("{} ended before it was ready", fmt::join(command, " ")));
  return worker;
}

std::vector<std::string> split(const std::string& output) {
  std::vector<std::string> sentences;
  for (size_t at = 0, end; (end = output.find(',', at)) != std::string::npos; at = end + 1) {
    sentences.push_back(output.substr(at, end - at));
  }
  return sentences;
}

// The ids that one call of each search computes.
size_t tokens_of(const std::string& output) {
  size_t count = 0;
  for (const std::string& sentence : split(output)) {
    std::istringstream ids(sentence);
    // The end of a sentence is computed as well.
    count += 1 + static_cast<size_t>(
                     std::distance(std::istream_iterator<std::string>(ids), std::istream_iterator<std::string>()));
  }
  return count;
}

void compare_setting(const Options& options, const Files& files, const Setting& setting, Table& table) {
  const std::string name = fmt::format("{} {} {}", setting.avx2 ? "avx2" : "all", setting.threads, setting.work);
  if (name.find(options.filter) == std::string::npos) return;
  const std::string& ids = setting.work == "one" ? files.some : files.every;
  std::vector<std::unique_ptr<Worker>> workers;
  for (const char* precision : {"int8", "f32"}) {
    for (const bool ours : {true, false}) workers.push_back(start(files, setting, ours, precision, ids));
  }
  for (const std::string search : kSearches) {
    std::vector<std::string> outputs;
    std::vector<std::vector<double>> times(workers.size());
    for (const auto& worker : workers) outputs.push_back(worker->output(search));
    const std::vector<std::string> expected = split(outputs[2]);  // ours in f32
    for (int round = 0; round < (options.quick ? 2 : 5); ++round) {
      for (size_t i = 0; i < workers.size(); ++i) times[i].push_back(workers[i]->seconds(search, 1));
    }
    for (size_t i = 0; i < workers.size(); ++i) {
      const std::vector<std::string> found = split(outputs[i]);
      size_t same = 0;
      for (size_t s = 0; s < found.size() && s < expected.size(); ++s) same += found[s] == expected[s];
      // Ties between two tokens may fall either way.
      if (i == 3 && search == "greedy" && same * 100 < expected.size() * 98) {
        wrong(fmt::format("{} of {} sentences are translated alike in f32", same, expected.size()));
      }
      const double median = median_of(times[i]), ours = median_of(times[i - i % 2]);
      table.add(setting.avx2 ? "avx2" : "all", setting.threads, setting.work, search, workers[i]->name(),
                median / static_cast<double>(expected.size()) * 1e3,
                static_cast<double>(tokens_of(outputs[i])) / median, median / ours,
                fmt::format("{}/{}", same, expected.size()), workers[i]->memory().peak);
    }
  }
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// From the start of the process to the first translation, greedy, one thread.
void compare_starts(const Options& options, const Files& files, const std::string& line, Table& table) {
  const std::string program = fs::path(fs::read_symlink("/proc/self/exe")).parent_path().parent_path() / "fovea";
  std::vector<std::vector<double>> times(5);
  for (int round = 0; round < (options.quick ? 3 : 9); ++round) {
    size_t at = 0;
    for (const char* precision : {"int8", "f32"}) {
      for (const bool ours : {true, false}) {
        const auto begin = std::chrono::steady_clock::now();
        start(files, {.work = "one"}, ours, precision, files.first)->output("greedy");
        times[at++].push_back(seconds_since(begin));
      }
    }
    if (!fs::exists(program)) continue;
    const auto begin = std::chrono::steady_clock::now();
    const std::string command = fmt::format(
        "echo '{}' | {} translate --model {} --threads 1 --precision int8 >/dev/null", line, program, files.folder);
    if (std::system(command.c_str()) != 0) wrong(command);
    times[at].push_back(seconds_since(begin));
  }
  const char* names[] = {"Fovea int8", "CT2 int8", "Fovea f32", "CT2 f32", "fovea translate"};
  for (size_t i = 0; i < times.size(); ++i) {
    if (!times[i].empty()) table.add(names[i], median_of(times[i]) * 1e3);
  }
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
  std::ofstream file(path);
  for (const std::string& line : lines) file << line << '\n';
  file.close();
  if (!file) wrong("cannot write " + path);
}

Files prepare(const Options& options, const fs::path& temporary, std::vector<std::string>& lines) {
  Files files = {.folder = options.model.empty() ? "models/en-zh" : options.model,
                 .converted = temporary / "model",
                 .program = fs::path(fs::read_symlink("/proc/self/exe")).parent_path() / "peers" / "ctranslate2",
                 .every = temporary / "every",
                 .some = temporary / "some",
                 .first = temporary / "first"};
  if (!fs::exists(files.program)) {
    wrong(fmt::format("{}: no such program (see bench/peers/README.md)", files.program));
  }
  std::ifstream text(options.text);
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.empty()) wrong(fmt::format("--text {}: expected a file with sentences", options.text));
  const std::string command =
      fmt::format("python3 {} {} {}", peer_script("ctranslate2_model.py"), files.folder, files.converted);
  if (std::system(command.c_str()) != 0) wrong(command);
  std::vector<std::string> ids, some;
  const auto vocabulary = fovea::load_side(files.folder, "source");
  for (const std::string& line : lines) ids.push_back(fmt::format("{}", fmt::join(vocabulary->encode(line), " ")));
  const size_t step = std::max<size_t>(1, ids.size() / kOneAtATime);
  for (size_t i = step / 2; i < ids.size(); i += step) some.push_back(ids[i]);
  write_lines(files.every, ids);
  write_lines(files.some, some);
  write_lines(files.first, {ids[ids.size() / 2]});
  return files;
}

}  // namespace

int run_translator(char** arguments) {
  fovea::set_thread_count(std::stoi(arguments[2]));
  const double before = peak_memory_mb();
  const Contender contender(arguments[0], arguments[1], std::string(arguments[3]) == "batches",
                            sentences_in(arguments[4]));
  serve(
      {.name = fmt::format("Fovea {}", arguments[1]),
       .calls = {{"greedy", [&] { contender.translate(1); }}, {"beam", [&] { contender.translate(kBeam); }}},
       .outputs = {{"greedy", [&] { return contender.output(1); }}, {"beam", [&] { return contender.output(kBeam); }}},
       .memory_before = before});
  return 0;
}

void compare_with_ctranslate2(const Options& options) {
  char pattern[] = "/tmp/fovea-decode-XXXXXX";
  if (mkdtemp(pattern) == nullptr) wrong("cannot make a temporary folder");
  std::vector<std::string> lines;
  const Files files = prepare(options, pattern, lines);
  Table table(
      fmt::format("translation of {} sentences, {}", lines.size(), files.folder),
      {"isa", "threads", "work", "search", "contender", "ms/sentence", "tok/s", "ours / it", "as f32", "peak MB"});
  for (const bool avx2 : {true, false}) {
    for (const int threads : {1, 2}) {
      if (options.threads > 0 && threads != options.threads) continue;
      for (const char* work : {"one", "batches"}) {
        compare_setting(options, files, {.work = work, .threads = threads, .avx2 = avx2}, table);
      }
    }
  }
  Table starts("start to first translation, one thread", {"contender", "ms"});
  if (options.filter.empty()) compare_starts(options, files, lines[lines.size() / 2], starts);
  report(options, {&table, &starts});
  fs::remove_all(pattern);
}

}  // namespace bench
