#include "corpora/xml.h"

#include <expat.h>

#include <exception>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace fovea {

namespace {

constexpr int64_t kMaxDepth = 200;
// A tag, with its attributes, or a comment; Expat has to hold it whole, and to read it anew with each block.
constexpr int64_t kMaxTagBytes = 1'000'000;
constexpr size_t kBlock = size_t{1} << 16;

std::string_view local_name(std::string_view name) { return name.substr(name.find(':') + 1); }

}  // namespace

std::string XmlAttributes::get(std::string_view name) const {
  for (const char* const* at = list_; *at != nullptr; at += 2) {
    if (name == *at) return at[1];
  }
  return "";
}

std::string XmlHandler::place() const { return fmt::format("{}:{}", file_, line_ ? line_() : 0); }

// Exceptions must not pass through Expat, which is C: they are held until it has returned.
class XmlParser {
 public:
  XmlParser(ByteSource source, XmlHandler& handler)
      : source_(std::move(source)), handler_(handler), parser_(XML_ParserCreate(nullptr)) {
    check(parser_ != nullptr, "{}: cannot initialise the XML parser", source_.name);
    handler_.file_ = source_.name;
    handler_.line_ = [this] { return line(); };
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(
        parser_, [](void* self, const char* name, const char** list) { of(self).start(name, list); },
        [](void* self, const char* name) { of(self).end(name); });
    XML_SetCharacterDataHandler(parser_, [](void* self, const char* text, int size) {
      of(self).run([&] { of(self).handler_.text({text, static_cast<size_t>(size)}); });
    });
    XML_SetEntityDeclHandler(parser_, [](void* self, const char* name, int, const char*, int, const char*, const char*,
                                         const char*, const char*) {
      of(self).run([&] {
        fail("{}: expected a document without entities of its own, got a declaration of \"{}\"",
             of(self).handler_.place(), brief(name));
      });
    });
    XML_SetSkippedEntityHandler(parser_, [](void* self, const char* name, int) {
      of(self).run([&] { fail("{}: the entity &{}; is not known", of(self).handler_.place(), brief(name)); });
    });
  }
  ~XmlParser() {
    handler_.line_ = {};
    XML_ParserFree(parser_);
  }
  XmlParser(const XmlParser&) = delete;
  XmlParser& operator=(const XmlParser&) = delete;

  void parse() {
    std::vector<char> block(kBlock);
    int64_t read = 0;
    for (bool more = true; more;) {
      const size_t got = source_.read(block.data(), block.size());
      read += static_cast<int64_t>(got);
      more = got > 0;
      const XML_Status status = XML_Parse(parser_, block.data(), static_cast<int>(got), more ? 0 : 1);
      if (error_) std::rethrow_exception(error_);
      if (status != XML_STATUS_OK) refuse();
      check(!more || read - XML_GetCurrentByteIndex(parser_) <= kMaxTagBytes,
            "{}: expected tags and comments of at most {} bytes, got more", handler_.place(), kMaxTagBytes);
    }
  }

 private:
  static XmlParser& of(void* self) { return *static_cast<XmlParser*>(self); }
  int64_t line() const { return static_cast<int64_t>(XML_GetCurrentLineNumber(parser_)); }

  template <class Function> void run(const Function& function) {
    if (error_) return;
    try {
      function();
    } catch (...) {
      error_ = std::current_exception();
      XML_StopParser(parser_, XML_FALSE);
    }
  }
  void start(const char* name, const char** list) {
    run([&] {
      check(++depth_ <= kMaxDepth, "{}: expected elements in a depth of at most {}, got more", handler_.place(),
            kMaxDepth);
      handler_.start(local_name(name), XmlAttributes(list));
    });
  }
  void end(const char* name) {
    run([&] {
      --depth_;
      handler_.end(local_name(name));
    });
  }
  [[noreturn]] void refuse() const {
    const XML_Error code = XML_GetErrorCode(parser_);
    if (code == XML_ERROR_UNKNOWN_ENCODING) {
      fail("{}: expected XML in UTF-8, UTF-16, ISO-8859-1 or ASCII, got another encoding", handler_.place());
    }
    fail("{}: not valid XML: {}", handler_.place(), XML_ErrorString(code));
  }

  ByteSource source_;
  XmlHandler& handler_;
  XML_Parser parser_;
  std::exception_ptr error_;
  int64_t depth_ = 0;
};

void parse_xml(ByteSource source, XmlHandler& handler) { XmlParser(std::move(source), handler).parse(); }

}  // namespace fovea
