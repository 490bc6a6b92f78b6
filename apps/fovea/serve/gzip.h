// Answers in gzip, for clients that take it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace fovea::app {

std::string gzip(std::string_view text);
std::string ungzip(std::string_view bytes);

// A stream that the client can read up to every part: each is flushed.
class GzipWriter {
 public:
  GzipWriter();
  std::string add(std::string_view part, bool last);

 private:
  struct Stream;
  std::shared_ptr<Stream> stream_;
};

}  // namespace fovea::app
