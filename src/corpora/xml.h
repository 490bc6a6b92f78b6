// Untrusted XML, read as a stream in constant memory.
//
// The parser is Expat: it has no code to open files or network connections, reports text as it is read and converts
// UTF-16. A document type may be named, because TMX files name theirs, but it is never loaded. A document that declares
// entities of its own is refused, so that none can expand or refer to files. Depth and the length of tags are limited.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "corpora/byte_source.h"

namespace fovea {

// The attributes of an element, by their names as written ("xml:lang").
class XmlAttributes {
 public:
  explicit XmlAttributes(const char* const* list) : list_(list) {}
  std::string get(std::string_view name) const;  // empty if there is none

 private:
  const char* const* list_;  // name, value, ..., null
};

// Receives the parts of a document. Elements are named without the prefix of their namespace.
class XmlHandler {
 public:
  virtual ~XmlHandler() = default;
  virtual void start(std::string_view name, const XmlAttributes& attributes) = 0;
  virtual void end(std::string_view name) = 0;
  virtual void text(std::string_view text) = 0;

  std::string place() const;  // while the document is parsed: "file:line"

 private:
  friend class XmlParser;
  std::string file_;
  std::function<int64_t()> line_;
};

// Throws an Error that names the file and the line.
void parse_xml(ByteSource source, XmlHandler& handler);

}  // namespace fovea
