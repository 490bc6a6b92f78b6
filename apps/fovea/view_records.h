// The flags of fovea view, the attention records that they select, and their output as data and diagnostics.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "decode/options.h"
#include "fovea/flags.h"
#include "view/align.h"
#include "view/picture_style.h"

namespace fovea::app {

struct ViewFlags : ModelFlags {
  std::vector<std::string> what;
  std::string target, input, passage, output, as, format, sort_by,
      cell;  // as: empty for the picture that suits the task
  int64_t line = 0, alternatives = 5;
  bool scores = false;
  bool one_attention = false, combined = false;  // whether --attention and --heads were given
  SearchFlags search_flags;
  SearchOptions search;  // with the flags
  ReduceOptions heads{.heads = "auto"};
  PictureStyle style;
  AlignOptions align;
};

// Calls `take` for every record of the model's output or of the record files, line by line.
void each_record(const ViewFlags& flags, const std::function<void(AttentionRecord&)>& take);

// --format json, npy, npz and safetensors: the records as data, reduced to the attentions that were selected.
int write_data(const ViewFlags& flags, const std::string& format);
// --as diagnostics and --sort-by.
int show_diagnostics(const ViewFlags& flags, const std::string& format);

}  // namespace fovea::app
