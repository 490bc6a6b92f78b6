#include "fovea/reader_flags.h"

#include "base/error.h"
#include "base/files.h"
#include "base/threads.h"
#include "store/shipped.h"
#include "text/utf8.h"

namespace fovea::app {

Reader load_reader_named(const std::vector<std::string>& models, const PredictorOptions& options, int threads) {
  check(models.size() == 1, "--model: expected one model of the task answer, got {}", models.size());
  if (threads > 0) set_thread_count(threads);
  return {find_model(models.front()), options};
}

Reader ReaderFlags::load_reader() const { return load_reader_named(models, predictor, threads); }

std::string read_passage(const std::string& path) {
  std::string text = read_file(path);
  const size_t invalid = find_invalid_utf8(text);
  check(invalid == std::string::npos, "{}: expected UTF-8, got an invalid byte at {}", path, invalid);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // a byte order mark
  return text;
}

void add_reader_flags(CLI::App& command, ReaderFlags& flags) {
  command.add_option("-m,--model", flags.models, "A model folder or the name of a shipped model.")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command.add_option("-p,--passage", flags.passage, "File with the passage; - for standard input.")->type_name("FILE");
  command.add_option("--threads", flags.threads, "Number of CPU threads; 0 for all cores.")
      ->check(at_least(0))
      ->group("Running");
  command.add_option("--device", flags.predictor.device, "Device: cpu, cuda, cuda:N, or auto (a GPU if there is one).")
      ->group("Running");
  command
      .add_option("--precision", flags.predictor.precision,
                  "Precision of matrix products, where the CPU has instructions for it.")
      ->check(CLI::IsMember({"f32", "bf16", "int8"}))
      ->group("Running");
}

}  // namespace fovea::app
