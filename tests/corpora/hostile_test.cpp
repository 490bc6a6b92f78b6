// Hostile and damaged files are errors that name the file: they neither crash nor take long nor fill the memory.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "corpora/samples.h"
#include "gzip.h"
#include "support.h"

namespace fovea {
namespace {

std::string tmx_with(const std::string& before, const std::string& segment) {
  return "<?xml version=\"1.0\"?>\n" + before +
         "<tmx version=\"1.4\"><header srclang=\"en\"/><body><tu><tuv xml:lang=\"en\"><seg>" + segment +
         "</seg></tuv><tuv xml:lang=\"zh\"><seg>b</seg></tuv></tu></body></tmx>";
}

TEST(HostileXml, EntitiesAreRefused) {
  const ImportOptions options = between("en", "zh");
  std::string bomb = "<!DOCTYPE tmx [<!ENTITY a0 \"ha\">\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "&a" + std::to_string(i - 1) + ";";
    bomb += "<!ENTITY a" + std::to_string(i) + " \"" + before + before + "\">\n";
  }
  EXPECT_ERROR(imported("a.tmx", tmx_with(bomb + "]>", "&a29;"), options),
               "a.tmx:2: expected a document without entities of its own, got a declaration of \"a0\"");
  for (const char* entity :
       {"<!ENTITY x SYSTEM \"file:///etc/passwd\">", "<!ENTITY % x SYSTEM \"http://127.0.0.1:9/x\"> %x;",
        "<!ENTITY x PUBLIC \"p\" \"http://127.0.0.1:9/x\">"}) {
    EXPECT_ERROR(imported("a.tmx", tmx_with(std::string("<!DOCTYPE tmx [") + entity + "]>", "&x;"), options),
                 "expected a document without entities of its own");
  }
  EXPECT_ERROR(imported("a.tmx", tmx_with("<!DOCTYPE tmx SYSTEM \"tmx14.dtd\">", "&x;"), options),
               "the entity &x; is not known");
  EXPECT_ERROR(imported("a.tmx", tmx_with("", "&x;"), options), "a.tmx:2: not valid XML: undefined entity");
  EXPECT_EQ(imported("a.tmx", tmx_with("<!DOCTYPE tmx SYSTEM \"/dev/zero\">", "a &lt; &#x4e00;"), options).at(0),
            "a < 一 | b");
}

TEST(HostileXml, DepthAndSizesAreLimited) {
  const ImportOptions options = between("en", "zh");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<hi>";
  EXPECT_ERROR(imported("a.tmx", tmx_with("", deep), options), "expected elements in a depth of at most 200");
  EXPECT_ERROR(imported("a.tmx", tmx_with("", "<hi x=\"" + std::string(3'000'000, 'x') + "\"/>"), options),
               "expected tags and comments of at most 1000000 bytes");
  EXPECT_ERROR(imported("a.tmx", tmx_with("", std::string(2'000'000, 'x')), options),
               "expected a segment of at most 1000000 bytes");
  EXPECT_ERROR(imported("a.tmx", tmx_with("", "<ph>" + std::string(2'000'000, 'x') + "</ph>"), options),
               "expected a segment of at most 1000000 bytes");
  EXPECT_EQ(imported("a.tmx", tmx_with("", "<ph>" + std::string(900'000, 'x') + "</ph>a"), options).at(0), "a | b");
}

TEST(HostileXml, EncodingsAreChecked) {
  const ImportOptions options = between("en", "zh");
  EXPECT_ERROR(imported("a.tmx", tmx_with("", "\xC3("), options), "a.tmx:2: not valid XML: not well-formed");
  EXPECT_ERROR(imported("a.tmx", tmx_with("", "\xED\xA0\x80"), options), "not valid XML");
  EXPECT_ERROR(imported("a.tmx", "<?xml version=\"1.0\" encoding=\"big5\"?><tmx/>", options),
               "expected XML in UTF-8, UTF-16");
  EXPECT_ERROR(imported("a.tmx", utf16(omegat_tmx(), true).substr(0, 1001), options), "not valid XML");
  EXPECT_ERROR(imported("a.tmx", std::string("<tmx>\0</tmx>", 12), options), "not valid XML");
  EXPECT_ERROR(imported("a.tmx", "", options), "a.tmx:1: not valid XML: no element found");
}

TEST(HostileArchive, BombsAreRefused) {
  const TemporaryFolder folder;
  Collected sink;
  std::string zeros;
  while (zeros.size() < 30'000'000) zeros += std::string(500'000, ' ') + "\n";
  const std::vector<std::string> bomb = {zip_of(folder, {{"a.jsonl", zeros}}, "bomb.zip")};
  EXPECT_ERROR(import_corpora(bomb, "auto", {}, sink), "bomb.zip/a.jsonl: expected text, got a file of ");
  const std::vector<std::string> packed = {folder.file("bomb.jsonl.gz", gzip(zeros))};
  EXPECT_ERROR(import_corpora(packed, "auto", {}, sink), "unpacks to more than 250 times as many");
  UnpackLimits limits;
  limits.total = 100'000;
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 0; i < 20; ++i) files.emplace_back(std::to_string(i) + ".jsonl", std::string(10'000, '\n'));
  const std::vector<std::string> many = {zip_of(folder, files, "many.zip")};
  EXPECT_ERROR(import_corpora(many, "auto", {}, sink, limits), "expected an archive of at most 100,000 bytes of text");
  limits = {};
  limits.entries = 19;
  EXPECT_ERROR(import_corpora(many, "auto", {}, sink, limits), "expected an archive of at most 19 files, got 20");
}

TEST(HostileArchive, NamesStayInside) {
  const TemporaryFolder folder;
  Collected sink;
  for (const char* name : {"../a.po", "x/../../a.po", "/etc/a.po", "..\\a.po", "C:a.po"}) {
    const std::vector<std::string> path = {zip_of(folder, {{name, gettext_po()}})};
    EXPECT_ERROR(import_corpora(path, "auto", {}, sink), "expected names of files inside the archive, got \"");
  }
}

TEST(HostileArchive, DamagedArchivesAreErrors) {
  const TemporaryFolder folder;
  Collected sink;
  for (const bool stored : {false, true}) {
    const std::string path = zip_of(folder, {{"a.po", gettext_po()}}, "a.zip", stored);
    const std::string whole = read_file(path);
    const std::vector<std::string> paths = {path};
    EXPECT_EQ(import_corpora(paths, "auto", {}, sink).pairs, 5);
    for (size_t size = 4; size < whole.size(); size += 7) {
      folder.file("a.zip", whole.substr(0, size));
      EXPECT_ERROR(import_corpora(paths, "auto", {}, sink), "the zip archive is truncated or damaged: it has no end");
    }
    std::string changed = whole;
    changed[40] = static_cast<char>(changed[40] ^ 1);  // in the compressed text
    folder.file("a.zip", changed);
    EXPECT_ERROR(import_corpora(paths, "auto", {}, sink), "a.zip/a.po: the archive is damaged here");
    // The same file many times over in a directory of many entries.
    const size_t directory = whole.find("PK\1\2"), end = whole.find("PK\5\6");
    const std::string entry = whole.substr(directory, end - directory);
    std::string many = whole.substr(0, directory), tail = whole.substr(end);
    for (int i = 0; i < 50; ++i) many += entry;
    tail[8] = tail[10] = 50;
    const size_t bytes = 50 * entry.size();
    for (size_t i = 0; i < 4; ++i) tail[12 + i] = static_cast<char>(bytes >> (8 * i));
    folder.file("a.zip", many + tail);
    EXPECT_ERROR(import_corpora(paths, "auto", {}, sink), "its files overlap");
    std::string locked = whole;
    locked[directory + 8] = 1;
    folder.file("a.zip", locked);
    EXPECT_ERROR(import_corpora(paths, "auto", {}, sink), "expected a file without a password");
    locked = whole;
    locked[directory + 10] = 14;
    folder.file("a.zip", locked);
    EXPECT_ERROR(import_corpora(paths, "auto", {}, sink), "got the compression method 14");
  }
}

TEST(HostileMo, OffsetsAndCountsAreChecked) {
  const std::string whole = gettext_mo();
  for (size_t size = 0; size < whole.size() - 1; ++size) {
    EXPECT_ERROR(imported("a.mo", whole.substr(0, size), {}),
                 size < 28 ? "a.mo: expected a MO file" : "truncated or damaged");
  }
  std::string many = whole;
  many[11] = '\x7F';
  EXPECT_ERROR(imported("a.mo", many, {}), "truncated or damaged");
}

// Mutations of a file of each format: each is read or refused with an Error. FOVEA_FUZZ=100000 for a long run.
TEST(HostileFiles, MutationsAreReadOrRefused) {
  const TemporaryFolder folder;
  const std::string archive = zip_of(folder, {{"a.po", gettext_po()}, {"b.tmx", omegat_tmx()}});
  const std::string zip = read_file(archive);
  const std::vector<std::pair<std::string, std::string>> files = {
      {"a.tmx", omegat_tmx()},
      {"b.tmx", utf16(omegat_tmx(), false)},
      {"a.xlf", xliff_12()},
      {"b.xlf", xliff_20()},
      {"a.po", gettext_po()},
      {"a.mo", gettext_mo()},
      {"a.csv", "id,en,zh\n1,\"a, \"\"b\"\"\",\"c\nd\"\n2,e,f\n"},
      {"a.tsv", "id\ten\tzh\n1\ta\tb\n"},
      {"a.jsonl", "{\"translation\":{\"en\":\"Hi\",\"zh\":\"\\u55e8\"}}\n"},
      {"a.zip", zip},
      {"a.tmx.gz", gzip(omegat_tmx())}};
  const char* asked = std::getenv("FOVEA_FUZZ");
  const int rounds = asked != nullptr ? std::atoi(asked) : 300;
  const std::vector<std::string> splices = {
      "<", ">", "</seg>", "&", "\"", "]]>", "<![CDATA[", "msgid", "\\", "\xFF", std::string(1, '\0')};
  int64_t read = 0, refused = 0;
  for (size_t f = 0; f < files.size(); ++f) {
    Random random(17, f);
    for (int round = 0; round < rounds; ++round) {
      std::string bytes = files[f].second;
      const auto below = [&](size_t bound) { return static_cast<size_t>(random.below(bound)); };
      for (size_t edits = 1 + below(4); edits > 0 && !bytes.empty(); --edits) {
        const size_t at = below(bytes.size()), length = std::min(below(20), bytes.size() - at);
        switch (below(5)) {
          case 0: bytes[at] = static_cast<char>(below(256)); break;
          case 1: bytes.erase(at, length); break;
          case 2: bytes.insert(at, bytes.substr(below(bytes.size()), length)); break;
          case 3: bytes.insert(at, splices[below(splices.size())]); break;
          default: bytes.resize(at);
        }
      }
      try {
        imported(files[f].first, bytes, between("en", "zh"));
        ++read;
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(read, 50);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace fovea
