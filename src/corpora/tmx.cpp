// TMX: a <tu> has a <tuv> for each language, and that one <seg>. The languages are compared as language_matches does.
#include "base/error.h"
#include "corpora/inline_text.h"
#include "corpora/readers.h"

namespace fovea {

namespace {

class TmxReader final : public XmlHandler {
 public:
  explicit TmxReader(PairWriter& writer) : writer_(writer) {}

  void start(std::string_view name, const XmlAttributes& attributes) override {
    if (!in_root_) {
      check(name == "tmx", "{}: expected a TMX document, got the element <{}>", place(), name);
      in_root_ = true;
    }
    if (in_segment_) {
      segment_.start(name, attributes);
    } else if (name == "tu") {
      place_ = place();
      source_.clear();
      targets_.clear();
    } else if (name == "tuv") {
      language_ = attributes.get("xml:lang");
      if (language_.empty()) language_ = attributes.get("lang");  // of TMX 1.1
      writer_.report.saw_language(language_);
    } else if (name == "seg") {
      in_segment_ = true;
      segment_.clear();
    }
  }
  void end(std::string_view name) override {
    if (name == "seg") {
      in_segment_ = false;
      take_segment();
    } else if (in_segment_) {
      segment_.end();
    } else if (name == "tu") {
      finish_unit();
    }
  }
  void text(std::string_view text) override {
    if (in_segment_) segment_.add(text);
  }

 private:
  void take_segment() {
    constexpr size_t kMostVariants = 1000;
    if (source_.empty() && language_matches(writer_.options.source_language, language_)) {
      source_ = segment_.text();
    } else if (language_matches(writer_.options.target_language, language_)) {
      check(targets_.size() < kMostVariants, "{}: expected a unit of at most {} translations, got more", place(),
            kMostVariants);
      targets_.push_back(segment_.text());
    }
  }
  // A unit may have several translations, such as zh-CN and zh-TW for zh.
  void finish_unit() {
    if (source_.empty() || targets_.empty()) return writer_.report.skip("without both languages");
    for (const std::string& target : targets_) writer_.add(source_, target, place_);
  }

  PairWriter& writer_;
  InlineText segment_{*this};
  bool in_root_ = false, in_segment_ = false;
  std::string language_, place_, source_;
  std::vector<std::string> targets_;
};

}  // namespace

void read_tmx(ByteSource source, PairWriter& writer) {
  check(!writer.options.source_language.empty() && !writer.options.target_language.empty(),
        "{}: TMX has texts in several languages: expected --source and --target with their codes", source.name);
  TmxReader reader(writer);
  parse_xml(std::move(source), reader);
}

}  // namespace fovea
