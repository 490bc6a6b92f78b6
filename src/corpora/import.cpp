#include "corpora/import.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/thousands.h"
#include "corpora/readers.h"

namespace fovea {

namespace {

constexpr std::array kFormats = {
    CorpusFormat{"tmx", " tmx ", "translation memories (OmegaT, Trados, OPUS), UTF-8 or UTF-16", read_tmx},
    CorpusFormat{"xliff", " xlf xliff sdlxliff mxliff mqxliff ", "XLIFF 1.2 and 2.0", read_xliff},
    CorpusFormat{"po", " po ", "gettext's catalogues", read_po},
    CorpusFormat{"mo", " mo gmo ", "gettext's compiled catalogues", read_mo},
    CorpusFormat{"csv", " csv ", "a table with commas or semicolons", read_csv},
    CorpusFormat{"tsv", " tsv tab ", "a table with tabs", read_table},
    CorpusFormat{"jsonl", " jsonl ndjson json ", "one JSON object a line", read_json_lines},
    CorpusFormat{"moses", "", "two files, aligned line by line, that end with the codes of their languages", nullptr},
};

std::string names_of_formats() {
  std::string names;
  for (const CorpusFormat& format : kFormats) names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

// What comes after the last full stop of the name, without .gz.
std::string_view without_gz(std::string_view name) {
  return name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
}
std::string_view extension_of(std::string_view name) {
  name = without_gz(name);
  const size_t dot = name.find_last_of("./");
  return dot == std::string_view::npos || name[dot] == '/' ? std::string_view() : name.substr(dot + 1);
}
std::string_view stem_of(std::string_view name) {
  name = without_gz(name);
  return name.substr(0, name.size() - std::min(name.size(), extension_of(name).size()));
}

const CorpusFormat* format_of(std::string_view name) {
  std::string extension(extension_of(name));
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (extension.empty()) return nullptr;
  for (const CorpusFormat& format : kFormats) {
    if (format.extensions.find(" " + extension + " ") != std::string_view::npos) return &format;
  }
  return nullptr;
}

class Importer {
 public:
  Importer(const ImportOptions& options, PairWriter& writer) : options_(options), writer_(writer) {}

  // Files whose format is known by their names, and pairs among the others.
  void read_by_name(std::vector<InputEntry> entries) {
    std::vector<InputEntry> others;
    for (InputEntry& entry : entries) {
      const CorpusFormat* format = format_of(entry.name);
      if (format == nullptr) {
        others.push_back(std::move(entry));
      } else {
        format->read(opened(entry), writer_);
      }
    }
    std::vector<bool> used(others.size());
    for (size_t i = 0; i < others.size(); ++i) {
      const size_t partner = ends_with_language(others[i], options_.source_language) ? partner_of(others, i) : i;
      if (partner == i) continue;
      read_moses(opened(others[i]), opened(others[partner]), writer_);
      used[i] = used[partner] = true;
    }
    for (size_t i = 0; i < others.size(); ++i) {
      if (!used[i]) ignore(others[i]);
    }
  }
  void read_as(const CorpusFormat& format, const std::vector<InputEntry>& entries) {
    if (format.read != nullptr) {
      for (const InputEntry& entry : entries) format.read(opened(entry), writer_);
      return;
    }
    check(entries.size() % 2 == 0, "moses: expected files in pairs, source and target in turns, got {}",
          counted(std::ssize(entries), "file"));
    for (size_t i = 0; i < entries.size(); i += 2) read_moses(opened(entries[i]), opened(entries[i + 1]), writer_);
  }

 private:
  static ByteSource opened(const InputEntry& entry) {
    check(!entry.in_archive || !entry.name.ends_with(".gz"), "{}: a gzip file in a zip archive cannot be read",
          entry.name);
    return entry.open();
  }
  static bool ends_with_language(const InputEntry& entry, const std::string& language) {
    return !language.empty() && language_matches(language, extension_of(entry.name));
  }
  // The file with the same name in the target language; `i` itself if there is none.
  size_t partner_of(const std::vector<InputEntry>& entries, size_t i) const {
    for (size_t j = 0; j < entries.size(); ++j) {
      const bool same = j != i && stem_of(entries[j].name) == stem_of(entries[i].name);
      if (same && ends_with_language(entries[j], options_.target_language)) return j;
    }
    return i;
  }
  // An archive has licences and indices beside its corpora; a file that the user names must be one.
  void ignore(const InputEntry& entry) {
    if (entry.in_archive) {
      ++writer_.report.ignored[std::string(extension_of(entry.name))];
      return;
    }
    const bool half =
        ends_with_language(entry, options_.source_language) || ends_with_language(entry, options_.target_language);
    check(!half, "{}: expected the file in the other language, too, with the same name up to its language", entry.name);
    fail(
        "{}: cannot tell the format by the name; choose one of {} with --format{}", entry.name, names_of_formats(),
        options_.source_language.empty() ? ", or the two languages of a pair of files with --source and --target" : "");
  }

  const ImportOptions& options_;
  PairWriter& writer_;
};

std::string languages_text(const ImportReport& report) {
  std::string list;
  for (const auto& [code, count] : report.languages) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", code.empty() ? "none" : code, thousands(count));
  }
  return brief(list, 300);
}

void check_found(std::span<const std::string> paths, const ImportOptions& options, const ImportReport& report) {
  if (report.pairs > 0) return;
  const std::string where = paths.size() == 1 ? paths.front() : fmt::format("{} files", paths.size());
  const auto found = report.skipped.find("without both languages");
  if (found != report.skipped.end()) {
    fail("{}: expected texts in {} and {}, got {}", where, options.source_language, options.target_language,
         languages_text(report));
  }
  fail("{}: expected a corpus, got no pair of texts ({})", where, report.text());
}

}  // namespace

std::span<const CorpusFormat> corpus_formats() { return kFormats; }

ImportReport import_corpora(std::span<const std::string> paths, const std::string& format, const ImportOptions& options,
                            PairSink& sink, const UnpackLimits& limits) {
  check(options.source_language.empty() == options.target_language.empty() || options.source_language.empty(),
        "import: expected --target with the code of the other language, too");
  check(options.source_column.empty() == options.target_column.empty(),
        "import: expected both --source-column and --target-column, or neither");
  check(options.source_language.empty() || !language_matches(options.source_language, options.target_language),
        "import: expected two languages, got {} and {}", options.source_language, options.target_language);
  ImportReport report;
  PairWriter writer(options, sink, report);
  Importer importer(options, writer);
  std::vector<InputEntry> entries;
  for (const std::string& path : paths) {
    for (InputEntry& entry : list_entries(path, limits)) entries.push_back(std::move(entry));
  }
  if (format.empty() || format == "auto") {
    importer.read_by_name(std::move(entries));
  } else {
    const auto found = std::find_if(kFormats.begin(), kFormats.end(), [&](const auto& f) { return f.name == format; });
    check(found != kFormats.end(), "--format: expected one of {}, got {}", names_of_formats(), format);
    importer.read_as(*found, entries);
  }
  check_found(paths, options, report);
  return report;
}

}  // namespace fovea
