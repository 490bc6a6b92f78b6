#include "corpora/samples.h"

#include "gzip.h"
#include "text/utf8.h"

namespace fovea {

std::string omegat_tmx() {
  return R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx11.dtd">
<tmx version="1.1">
  <header creationtool="OmegaT" o-tmf="OmegaT TMX" adminlang="EN-US" datatype="plaintext" creationtoolversion="5.7.1" segtype="sentence" srclang="EN-US"/>
  <body>
<!-- Default translations -->
    <tu>
      <tuv lang="EN-US">
        <seg>Open the file.</seg>
      </tuv>
      <tuv lang="ZH-CN" changeid="me" changedate="20230102T030405Z">
        <seg>打开文件。</seg>
      </tuv>
    </tu>
    <tu>
      <tuv lang="EN-US">
        <seg>Press <bpt i="1">&lt;b&gt;</bpt>Enter<ept i="1">&lt;/b&gt;</ept> &amp; wait <ph x="2">{0}</ph> seconds.<ph type="lb"/>Then go on.</seg>
      </tuv>
      <tuv lang="ZH-CN">
        <note>a note is not text</note>
        <seg>按<hi type="bold">回车</hi>并等待<ph x="2">{0}</ph>秒。<it pos="begin">&lt;a alt="<sub>no</sub>"&gt;</it>然后继续。</seg>
      </tuv>
    </tu>
<!-- Alternative translations -->
    <tu>
      <prop type="file">a.html</prop>
      <tuv lang="EN-US"><seg>Only here</seg></tuv>
      <tuv lang="FR"><seg>Seulement ici</seg></tuv>
    </tu>
    <tu>
      <tuv xml:lang="en"><seg>Two
      lines</seg></tuv>
      <tuv xml:lang="zh-CN"><seg>两行</seg></tuv>
      <tuv xml:lang="zh-TW"><seg>兩行</seg></tuv>
    </tu>
  </body>
</tmx>
)";
}

std::string gettext_po() {
  return R"po(# Translations for a program.
# Copyright (C) 2023
msgid ""
msgstr ""
"Project-Id-Version: program 1.0\n"
"Language: zh_CN\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=1; plural=0;\n"

#. a comment for translators
#: src/main.c:12 src/menu.c:3
#, c-format
msgid "Cannot open \"%s\"\n"
msgstr "无法打开“%s”\n"

#: src/main.c:20
#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d 个文件"

#, fuzzy, c-format
#| msgid "Old text"
msgid "New text"
msgstr "旧文本"

msgctxt "menu"
msgid "Open"
msgstr "打开"

msgctxt "state"
msgid "Open"
msgstr "开着的"

msgid ""
"A long text that "
"goes on\ton\n"
"two lines"
msgstr ""
"很长的"
"文本"

msgid "Untranslated"
msgstr ""

#~ msgid "Obsolete"
#~ msgstr "过时"
)po";
}

std::string gettext_mo() {
  const std::vector<std::pair<std::string, std::string>> messages = {
      {"", "Language: de\nContent-Type: text/plain; charset=UTF-8\n"},
      {std::string("menu\4Open"), "Öffnen"},
      {std::string("%d file\0%d files", 16), std::string("%d Datei\0%d Dateien", 19)},
      {"Save", "Speichern"}};
  std::string tables, texts;
  const auto number = [](std::string& to, size_t value) {
    for (int i = 0; i < 4; ++i) to += static_cast<char>(value >> (8 * i));
  };
  const size_t count = messages.size(), first = 28 + 16 * count;
  for (const bool translation : {false, true}) {
    for (const auto& [message, translated] : messages) {
      const std::string& text = translation ? translated : message;
      number(tables, text.size());
      number(tables, first + texts.size());
      texts += text + '\0';
    }
  }
  std::string header;
  for (const size_t value : {size_t{0x950412DE}, size_t{0}, count, size_t{28}, 28 + 8 * count, size_t{0}, size_t{28}}) {
    number(header, value);
  }
  return header + tables + texts;
}

std::string xliff_12() {
  return R"(<?xml version="1.0" encoding="utf-8"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
  <file original="a.html" source-language="en-US" target-language="de-DE" datatype="html">
    <header><note>not text</note></header>
    <body>
      <group>
        <trans-unit id="1" approved="yes">
          <source>Click <g id="1">here</g> for <x id="2" equiv-text="{{name}}"/>.</source>
          <target state="translated">Klicken Sie für <x id="2" equiv-text="{{name}}"/> <g id="1">hier</g>.</target>
          <alt-trans match-quality="80%"><source>Click there</source><target>Dort klicken</target></alt-trans>
        </trans-unit>
      </group>
      <trans-unit id="2"><source>Not yet</source><target state="needs-translation">Not yet</target></trans-unit>
      <trans-unit id="3"><source>Nothing</source></trans-unit>
      <trans-unit id="4">
        <source>One. Two.</source>
        <seg-source><mrk mtype="seg" mid="0">One.</mrk> <mrk mtype="seg" mid="1">T<bpt id="1">&lt;i&gt;</bpt>wo.</mrk></seg-source>
        <target><mrk mtype="seg" mid="0">Eins.</mrk> <mrk mtype="seg" mid="1">Zwei.</mrk></target>
      </trans-unit>
    </body>
  </file>
  <file original="b.html" source-language="en" target-language="fr" datatype="html">
    <body><trans-unit id="1"><source>Bread</source><target>Pain</target></trans-unit></body>
  </file>
</xliff>
)";
}

std::string xliff_20() {
  return R"(<?xml version="1.0"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0" version="2.0" srcLang="en" trgLang="de">
  <file id="f1">
    <unit id="u1">
      <mtc:matches><mtc:match ref="#s1"><source>A match</source><target>Ein Treffer</target></mtc:match></mtc:matches>
      <originalData><data id="d1">&lt;br/&gt;</data></originalData>
      <segment id="s1" state="final">
        <source>First<ph id="1" subType="xlf:lb" dataRef="d1"/><pc id="2">second</pc> <mrk id="m1" translate="no">X</mrk>.</source>
        <target>Erst<ph id="1" subType="xlf:lb"/><pc id="2">zweitens</pc> <mrk id="m1">X</mrk>.</target>
      </segment>
      <ignorable><source> </source><target> </target></ignorable>
      <segment state="initial"><source>Open</source><target>Open</target></segment>
    </unit>
  </file>
</xliff>
)";
}

std::string utf16(const std::string& text, bool big_endian) {
  std::string bytes = big_endian ? "\xFE\xFF" : "\xFF\xFE";
  for (const auto& [value, begin, end] : code_points(text)) {
    const char high = static_cast<char>(value >> 8), low = static_cast<char>(value & 0xFF);
    bytes += big_endian ? high : low;
    bytes += big_endian ? low : high;
  }
  return bytes;
}

std::string zip_of(const TemporaryFolder& folder, const std::vector<std::pair<std::string, std::string>>& files,
                   const std::string& name, bool stored) {
  std::string archive, directory;
  const auto number = [](std::string& to, size_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
  };
  for (const auto& [inside, bytes] : files) {
    // Without gzip's header of 10 bytes and its end of 8, this is what zip stores.
    const std::string zipped = gzip(bytes), packed = stored ? bytes : zipped.substr(10, zipped.size() - 18);
    std::string common;  // version, flags, method, time, date, checksum, sizes, lengths
    for (const size_t value : {size_t{20}, size_t{0x800}, size_t{stored ? 0u : 8u}, size_t{0}, size_t{33}})
      number(common, value, 2);
    number(common, crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())), 4);
    number(common, packed.size(), 4);
    number(common, bytes.size(), 4);
    number(common, inside.size(), 2);
    number(common, 0, 2);
    directory += "PK\1\2" + std::string("\x14\0", 2) + common + std::string(10, '\0');
    number(directory, archive.size(), 4);
    directory += inside;
    archive += "PK\3\4" + common + inside + packed;
  }
  std::string end = "PK\5\6" + std::string(4, '\0');
  number(end, files.size(), 2);
  number(end, files.size(), 2);
  number(end, directory.size(), 4);
  number(end, archive.size(), 4);
  number(end, 0, 2);
  return folder.file(name, archive + directory + end);
}

std::vector<std::string> Collected::texts() const {
  std::vector<std::string> texts;
  for (const TextPair& pair : pairs) texts.push_back(pair.source + " | " + pair.target);
  return texts;
}

std::vector<std::string> imported(const std::string& name, const std::string& bytes, const ImportOptions& options,
                                  ImportReport* report) {
  const TemporaryFolder folder;
  Collected collected;
  const std::vector<std::string> paths = {folder.file(name, bytes)};
  const ImportReport read = import_corpora(paths, "auto", options, collected);
  if (report != nullptr) *report = read;
  return collected.texts();
}

}  // namespace fovea
