// XLIFF 1.x: <trans-unit> with <source> and <target>, whose sentences may be marked by <mrk mtype="seg" mid="...">.
// XLIFF 2.x: <segment> with <source> and <target>. Proposals (<alt-trans>, <mtc:match>) have sources and targets, too,
// which are not those of a unit and are left out.
#include <array>
#include <map>

#include "base/error.h"
#include "corpora/inline_text.h"
#include "corpora/readers.h"

namespace fovea {

namespace {

// One side of a unit: its text, and its marked sentences by their ids.
struct Side {
  bool present = false;
  std::string text, state;
  std::map<std::string, std::string> sentences;

  void clear() { *this = {}; }
};

class XliffReader final : public XmlHandler {
 public:
  explicit XliffReader(PairWriter& writer) : writer_(writer) {}

  void start(std::string_view name, const XmlAttributes& attributes) override {
    if (path_.empty()) {
      check(name == "xliff", "{}: expected an XLIFF document, got the element <{}>", place(), name);
      set_languages(attributes.get("srcLang"), attributes.get("trgLang"));
    }
    const std::string parent = path_.empty() ? "" : path_.back();
    path_.emplace_back(name);
    if (side_ != nullptr) return start_inline(name, attributes);
    if (name == "file" && !attributes.get("source-language").empty()) {
      set_languages(attributes.get("source-language"), attributes.get("target-language"));
    } else if (name == "trans-unit" || name == "segment") {
      place_ = place();
      source_.clear();
      target_.clear();
      marked_.clear();
      target_.state = attributes.get("state");  // of XLIFF 2
    } else if (parent == "trans-unit" || parent == "segment") {
      start_side(name, attributes);
    }
  }
  void end(std::string_view name) override {
    path_.pop_back();
    if (side_ != nullptr) return end_inline(name);
    if (name == "trans-unit" || name == "segment") finish_unit();
  }
  void text(std::string_view text) override {
    if (side_ == nullptr) return;
    all_.add(text);
    if (sentence_depth_ > 0) sentence_.add(text);
  }

 private:
  void set_languages(const std::string& source, const std::string& target) {
    if (!source.empty()) source_language_ = source;
    if (!target.empty()) target_language_ = target;
  }
  void start_side(std::string_view name, const XmlAttributes& attributes) {
    side_ = name == "source" ? &source_ : name == "target" ? &target_ : name == "seg-source" ? &marked_ : nullptr;
    if (side_ == nullptr) return;
    side_depth_ = path_.size();
    side_->present = true;
    if (side_ == &target_ && target_.state.empty()) target_.state = attributes.get("state");
    all_.clear();
    sentence_depth_ = 0;
  }
  void start_inline(std::string_view name, const XmlAttributes& attributes) {
    all_.start(name, attributes);
    if (sentence_depth_ > 0) return sentence_.start(name, attributes);
    if (name != "mrk" || attributes.get("mtype") != "seg") return;
    sentence_depth_ = path_.size();
    sentence_id_ = attributes.get("mid");
    sentence_.clear();
  }
  void end_inline(std::string_view /*name*/) {
    if (path_.size() + 1 == side_depth_) {
      side_->text = all_.text();
      side_ = nullptr;
      return;
    }
    all_.end();
    if (sentence_depth_ == 0) return;
    if (path_.size() + 1 == sentence_depth_) {
      side_->sentences[sentence_id_] = sentence_.text();
      sentence_depth_ = 0;
    } else {
      sentence_.end();
    }
  }

  bool is_unfinished() const {
    constexpr std::array<std::string_view, 2> kFirst = {"new", "initial"};
    return target_.state.starts_with("needs-") || target_.state == kFirst[0] || target_.state == kFirst[1];
  }
  void finish_unit() {
    ImportReport& report = writer_.report;
    const ImportOptions& options = writer_.options;
    report.saw_language(source_language_);
    report.saw_language(target_language_);
    const bool ours =
        (options.source_language.empty() || language_matches(options.source_language, source_language_)) &&
        (options.target_language.empty() || language_matches(options.target_language, target_language_));
    if (!ours) return report.skip("without both languages");
    if (!target_.present) return report.skip("untranslated or empty");
    if (is_unfinished() && !options.fuzzy) return report.skip("fuzzy or unfinished");
    // <seg-source> repeats the source with its sentences marked.
    const auto& sentences = marked_.present ? marked_.sentences : source_.sentences;
    bool aligned = !sentences.empty() && sentences.size() == target_.sentences.size();
    for (const auto& [id, text] : sentences) aligned = aligned && target_.sentences.count(id) > 0;
    if (!aligned) return writer_.add(source_.text, target_.text, place_);
    for (const auto& [id, text] : sentences) writer_.add(text, target_.sentences.at(id), place_);
  }

  PairWriter& writer_;
  std::vector<std::string> path_;  // the open elements
  std::string source_language_, target_language_, place_;
  Side source_, target_, marked_;
  Side* side_ = nullptr;  // the side that is being read
  size_t side_depth_ = 0, sentence_depth_ = 0;
  InlineText all_{*this}, sentence_{*this};
  std::string sentence_id_;
};

}  // namespace

void read_xliff(ByteSource source, PairWriter& writer) {
  XliffReader reader(writer);
  parse_xml(std::move(source), reader);
}

}  // namespace fovea
