// The page: files that were built into the program, or a page that says how to get them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fovea/serve/call.h"

namespace fovea::app {

struct PageFile {
  std::string_view path, type, etag;
  bool hashed;             // its name changes with its contents
  std::string_view bytes;  // gzip
};
std::span<const PageFile> page_files();  // generated; empty where the page was not built

bool is_page(const std::string& path);
Answer page_answer(const Call& call);

}  // namespace fovea::app
