// Files as translators' tools, gettext and corpus collections write them.
#include <gtest/gtest.h>

#include <algorithm>

#include "corpora/pairs.h"
#include "corpora/samples.h"
#include "gzip.h"
#include "support.h"

namespace fovea {
namespace {

using Texts = std::vector<std::string>;

TEST(LanguageMatches, VariantsOfALanguage) {
  for (const char* code : {"en", "EN", "en-US", "en_GB", "en-Latn-US"})
    EXPECT_TRUE(language_matches("en", code)) << code;
  for (const char* code : {"", "eng", "e", "de", "de-en"}) EXPECT_FALSE(language_matches("en", code)) << code;
  EXPECT_TRUE(language_matches("zh-CN", "zh_cn"));
  EXPECT_FALSE(language_matches("zh-CN", "zh"));
  EXPECT_FALSE(language_matches("zh-CN", "zh-TW"));
}

TEST(OneLine, HasSingleSpacesAndNoControls) {
  EXPECT_EQ(one_line("  a\n\tb\xC2\xA0 c\x01"), "a b c");
  EXPECT_EQ(one_line("\xEF\xBB\xBF"
                     "a\xE3\x80\x80\xE2\x80\xA8"
                     "b"),
            "a b");
  EXPECT_EQ(one_line(" \n "), "");
}

TEST(TmxTest, OmegaT) {
  ImportReport report;
  EXPECT_EQ(imported("a.tmx", omegat_tmx(), between("en", "zh"), &report),
            (Texts{"Open the file. | 打开文件。",
                   "Press Enter & wait {0} seconds. Then go on. | 按回车并等待{0}秒。然后继续。", "Two lines | 两行",
                   "Two lines | 兩行"}));
  EXPECT_EQ(report.skipped, (std::map<std::string, int64_t>{{"without both languages", 1}}));
  EXPECT_EQ(imported("a.TMX", omegat_tmx(), between("zh-TW", "en")), Texts{"兩行 | Two lines"});
  EXPECT_EQ(imported("a.tmx.gz", gzip(omegat_tmx()), between("en", "fr")), Texts{"Only here | Seulement ici"});
}

TEST(TmxTest, Utf16OfBothByteOrders) {
  std::string text = omegat_tmx();
  text.replace(text.find("UTF-8"), 5, "UTF-16");
  for (const bool big : {false, true}) {
    EXPECT_EQ(imported("a.tmx", utf16(text, big), between("en", "zh")).size(), 4u) << big;
    EXPECT_EQ(imported("a.tmx", utf16(text, big), between("en", "zh"))[0], "Open the file. | 打开文件。");
  }
}

TEST(TmxTest, SaysWhichLanguagesThereAre) {
  EXPECT_ERROR(imported("a.tmx", omegat_tmx(), between("en", "ja")),
               "a.tmx: expected texts in en and ja, got EN-US (3), FR (1), ZH-CN (2), en (1), zh-CN (1), zh-TW (1)");
  EXPECT_ERROR(imported("a.tmx", omegat_tmx(), {}), "expected --source and --target");
  EXPECT_ERROR(imported("a.tmx", xliff_12(), between("en", "de")),
               "a.tmx:2: expected a TMX document, got the element <xliff>");
}

TEST(XliffTest, Version12) {
  ImportReport report;
  const Texts taken = {"Click here for {{name}}. | Klicken Sie für {{name}} hier.", "One. | Eins.", "Two. | Zwei."};
  EXPECT_EQ(imported("a.xlf", xliff_12(), between("en", "de"), &report), taken);
  EXPECT_EQ(report.skipped,
            (std::map<std::string, int64_t>{
                {"fuzzy or unfinished", 1}, {"untranslated or empty", 1}, {"without both languages", 1}}));
  ImportOptions fuzzy = between("en", "de");
  fuzzy.fuzzy = true;
  EXPECT_EQ(imported("a.xliff", xliff_12(), fuzzy).at(1), "Not yet | Not yet");
  EXPECT_EQ(imported("a.xlf", xliff_12(), between("en", "fr")), Texts{"Bread | Pain"});
  EXPECT_EQ(imported("a.xlf", xliff_12(), {}).size(), 4u);  // the languages of each file
}

TEST(XliffTest, Version20) {
  ImportReport report;
  EXPECT_EQ(imported("a.xlf", xliff_20(), between("en", "de"), &report), Texts{"First second X. | Erst zweitens X."});
  EXPECT_EQ(report.skipped["fuzzy or unfinished"], 1);
}

TEST(PoTest, Gettext) {
  ImportReport report;
  const Texts taken = {"Cannot open \"%s\" | 无法打开“%s”", "%d files | %d 个文件", "Open | 打开", "Open | 开着的",
                       "A long text that goes on on two lines | 很长的文本"};
  EXPECT_EQ(imported("zh_CN.po", gettext_po(), between("en", "zh"), &report), taken);
  EXPECT_EQ(report.skipped, (std::map<std::string, int64_t>{{"fuzzy or unfinished", 1}, {"untranslated or empty", 1}}));
  EXPECT_EQ(imported("a.po", gettext_po(), {}), taken);
  ImportOptions fuzzy;
  fuzzy.fuzzy = true;
  EXPECT_EQ(imported("a.po", gettext_po(), fuzzy).at(2), "New text | 旧文本");
  EXPECT_ERROR(imported("a.po", gettext_po(), between("en", "de")), "a.po: expected texts in en and de, got zh_CN (6)");
}

TEST(PoTest, PluralForms) {
  EXPECT_EQ(
      imported("a.po",
               "msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"a\"\nmsgstr[1] \"b\"\nmsgstr[2] \"c\"\n", {}),
      (Texts{"%d file | a", "%d files | b", "%d files | c"}));
}

TEST(PoTest, MistakesNameTheLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"msgid \"a\"\nmsgid \"b\"\n", "a.po:2: expected a msgstr in the entry that begins at "},
      {"msgstr \"a\"\n", "a.po:1: expected msgid before msgstr"},
      {"\"a\"\n", "a.po:1: expected msgid before a string"},
      {"msgid \"a\nmsgstr \"\"\n", "a.po:1: expected a string that ends with the line"},
      {"msgid \"\\q\"\n", "a.po:1: expected an escape such as \\n, got \\q"},
      {"msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[1] \"c\"\n", "a.po:3: expected msgstr[0] here"},
      {"msgid \"a\"\nmsgstr[9999999999999999999999] \"c\"\n", "a.po:2: expected msgstr[N]"},
      {"hello\n", "a.po:1: expected msgid, msgstr, a string or a comment, got hello"},
      {"msgid \"a\"\nmsgstr \"\\377\"\n", "a.po:1: not valid UTF-8 with its escapes replaced"},
      {"msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=big5\\n\"\n",
       "expected the charset UTF-8, got BIG5; msgconv"},
      {"msgid \"a\"\nmsgstr \"\xFF\"\n", "a.po:2: not valid UTF-8"}};
  for (const auto& [text, message] : cases) EXPECT_ERROR(imported("a.po", text, {}), message);
}

TEST(MoTest, Gettext) {
  const Texts taken = {"Open | Öffnen", "%d file | %d Datei", "%d files | %d Dateien", "Save | Speichern"};
  EXPECT_EQ(imported("de.mo", gettext_mo(), between("en", "de")), taken);
  std::string swapped = gettext_mo();
  for (size_t at = 0; at < 28 + 64; at += 4)
    std::reverse(swapped.begin() + static_cast<long>(at), swapped.begin() + static_cast<long>(at) + 4);
  EXPECT_EQ(imported("de.mo", swapped, {}), taken);
  EXPECT_ERROR(imported("de.mo", gettext_mo(), between("en", "fr")), "expected texts in en and fr, got de (3)");
}

TEST(TablesTest, Csv) {
  const std::string text =
      "\xEF\xBB\xBFid,en,\"zh-CN\"\r\n1,\"Yes, he said \"\"no\"\".\",是\r\n\r\n2,\"two\nlines\",两行\r\n3,,空\r\n";
  EXPECT_EQ(imported("a.csv", text, between("en", "zh")), (Texts{"Yes, he said \"no\". | 是", "two lines | 两行"}));
  ImportOptions columns;
  columns.source_column = "zh-CN";
  columns.target_column = "1";
  EXPECT_EQ(imported("a.csv", text, columns).at(0), "是 | 1");
  EXPECT_EQ(imported("a.csv", "source;target\na,b;c\n", {}), Texts{"a,b | c"});
  EXPECT_ERROR(imported("a.csv", text, {}), "a.csv:1: expected --source-column with one of the columns id, en, zh-CN");
  EXPECT_ERROR(imported("a.csv", "source,target\na\n", {}), "a.csv:2: expected 2 columns, as in the first row, got 1");
  EXPECT_ERROR(imported("a.csv", "source,target\na,\"b\n", {}), "a.csv:2: expected a closing quote");
  EXPECT_ERROR(imported("a.csv", "source,target\na,\"b\"c\n", {}),
               "a.csv:2: expected a delimiter after the closing quote");
  EXPECT_ERROR(imported("a.csv", "source,target\na,\xC3\n", {}), "a.csv:2: expected text in UTF-8");
}

TEST(TablesTest, Tsv) {
  EXPECT_EQ(imported("a.tsv", "en\tzh\nsay \"a\t说\"甲\n", between("en", "zh")), Texts{"say \"a | 说\"甲"});
  ImportOptions options;
  options.no_header = true;
  EXPECT_EQ(imported("a.tsv", "a\tb\nc\td\n", options), (Texts{"a | b", "c | d"}));
  options.source_column = "3";
  options.target_column = "1";
  EXPECT_EQ(imported("a.tsv", "a\tb\tc\n", options), Texts{"c | a"});
}

TEST(TablesTest, JsonLines) {
  EXPECT_EQ(imported("a.jsonl",
                     "{\"id\":\"1\",\"translation\":{\"en\":\"Hi\",\"zh\":\"嗨\"}}\n\n{\"translation\":{\"en\":"
                     "\"a\\nb\",\"zh\":\"c\"}}\n",
                     between("en", "zh")),
            (Texts{"Hi | 嗨", "a b | c"}));
  EXPECT_EQ(imported("a.jsonl", "{\"source\":\"a\",\"target\":\"b\"}\n{\"source\":\"a\",\"target\":null}\n", {}),
            Texts{"a | b"});
  ImportOptions keys;
  keys.source_column = "t.x";
  keys.target_column = "u";
  EXPECT_EQ(imported("a.jsonl", "{\"t\":{\"x\":\"a\"},\"u\":\"b\"}\n", keys), Texts{"a | b"});
  EXPECT_ERROR(imported("a.jsonl", "{\"source\":\"a\",\"target\":\"b\"}\n{\"source\":\"a\"}\n", {}),
               "a.jsonl:2: expected the key target");
  EXPECT_ERROR(imported("a.jsonl", "{\"source\":\"a\",\"target\":\"b\"}\n[1]\n", {}), "a.jsonl:2: expected an object");
  EXPECT_ERROR(imported("a.jsonl", "{\"source\":1}\n", {}), "a.jsonl:1: ");
}

TEST(MosesTest, PairsOfFiles) {
  const TemporaryFolder folder;
  Collected collected;
  const Texts paths = {folder.file("news.zh.gz", gzip("一\n二\n")), folder.file("news.en", "one\ntwo\n")};
  import_corpora(paths, "auto", between("en", "zh"), collected);
  EXPECT_EQ(collected.texts(), (Texts{"one | 一", "two | 二"}));
  EXPECT_EQ(collected.pairs[1].place, folder.file("news.en") + ":2");
  const Texts given = {folder.file("x", "a\n"), folder.file("y", "b\n")};
  Collected as_moses;
  import_corpora(given, "moses", {}, as_moses);
  EXPECT_EQ(as_moses.texts(), Texts{"a | b"});
  const Texts uneven = {folder.file("u.en", "a\nb\n"), folder.file("u.zh", "c\n")}, half = {folder.file("u.en")};
  EXPECT_ERROR(import_corpora(uneven, "auto", between("en", "zh"), collected), "u.zh: expected as many lines as in ");
  EXPECT_ERROR(import_corpora(half, "auto", between("en", "zh"), collected),
               "u.en: expected the file in the other language");
  EXPECT_ERROR(import_corpora(half, "auto", {}, collected), "cannot tell the format by the name");
  EXPECT_ERROR(import_corpora(half, "moses", {}, collected), "moses: expected files in pairs");
}

TEST(ArchiveTest, HasFilesOfSeveralFormats) {
  const TemporaryFolder folder;
  const std::string path = zip_of(folder, {{"README", "a licence"},
                                           {"sub/a.tmx", omegat_tmx()},
                                           {"opus.en-zh.en", "one\n"},
                                           {"opus.en-zh.zh", "一\n"},
                                           {"po/zh.po", gettext_po()},
                                           {"po/de.mo", gettext_mo()}});
  Collected collected;
  const Texts paths = {path};
  const ImportReport report = import_corpora(paths, "auto", between("en", "zh"), collected);
  EXPECT_EQ(collected.pairs.size(), 4u + 5u + 1u);
  EXPECT_EQ(collected.pairs.back().place, path + "/opus.en-zh.en:1");
  EXPECT_EQ(report.ignored, (std::map<std::string, int64_t>{{"", 1}}));
  const std::string other = zip_of(folder, {{"a.txt", "text"}}, "other.zip");
  const Texts none = {other};
  EXPECT_ERROR(import_corpora(none, "auto", between("en", "zh"), collected),
               "other.zip: expected a corpus, got no pair of texts");
}

}  // namespace
}  // namespace fovea
