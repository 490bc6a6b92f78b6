// Bytes of a corpus file: plain, from gzip or from a zip archive, within limits that stop files which unpack to far
// more than any text does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "text/zip.h"

namespace fovea {

// A file as it is listed: opened when it is read.
struct InputEntry {
  std::string name;  // for messages; of a file in an archive "archive.zip/file"
  bool in_archive = false;
  std::function<ByteSource()> open;
};

// The file itself, or the files of a zip archive, which is recognised by its first bytes. Throws an Error for names in
// an archive that lead out of it, encrypted files and archives beyond the limits.
std::vector<InputEntry> list_entries(const std::string& path, const UnpackLimits& limits = {});

// The whole contents; an Error if they are longer than `max_bytes`.
std::string read_all(ByteSource source, size_t max_bytes);

}  // namespace fovea
