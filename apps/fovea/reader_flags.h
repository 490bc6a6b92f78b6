// The flags of commands that run a model of the task answer.
#pragma once

#include <string>

#include "fovea/flags.h"
#include "tasks/reader.h"

namespace fovea::app {

struct ReaderFlags {
  std::vector<std::string> models;  // one
  std::string passage;              // a file
  int threads = 0;
  PredictorOptions predictor;

  Reader load_reader() const;  // also sets the number of threads
};
void add_reader_flags(CLI::App& command, ReaderFlags& flags);

// The reader of one model folder, or of the name of a shipped model.
Reader load_reader_named(const std::vector<std::string>& models, const PredictorOptions& options, int threads);
// The text of a passage: a file or, as "-", standard input; without the line ends after it.
std::string read_passage(const std::string& path);

}  // namespace fovea::app
