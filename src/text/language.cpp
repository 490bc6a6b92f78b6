#include "text/language.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "text/utf8.h"

namespace fovea {

namespace {

struct Language {
  std::string_view code, name;
  Script script;
  std::string_view words;    // the commonest, between blanks
  std::string_view letters;  // that few others have
};

constexpr Language kLanguages[] = {
    {"ar", "Arabic", Script::kArabic, "", ""},
    {"cs", "Czech", Script::kLatin, " a je se na v že to s z do o jsem by jak ale co tak pro si za ve ", "ěřůčžšťď"},
    {"de", "German", Script::kLatin,
     " der die das und ist ich nicht ein eine zu den es sie mit auf für in von dem auch wir im er wie sich hat ",
     "äöüß"},
    {"el", "Greek", Script::kGreek, "", ""},
    {"en", "English", Script::kLatin,
     " the of and to a in is you that it he was for on are as with his they i at be this have from or what we not ",
     ""},
    {"es", "Spanish", Script::kLatin,
     " de la que el en y a los se del las un por con no una su para es al lo como más pero me ya muy ", "ñ¿¡áíóú"},
    {"fr", "French", Script::kLatin,
     " de la le et les des en un une est que pour qui dans il je pas sur ce ne vous nous au avec du elle ", "éèêçàœù"},
    {"he", "Hebrew", Script::kHebrew, "", ""},
    {"hi", "Hindi", Script::kDevanagari, "", ""},
    {"it", "Italian", Script::kLatin,
     " di che è e la il un a per in una mi non sono ho ma lo ha le si ti con cosa se come da ", "èòàùì"},
    {"ja", "Japanese", Script::kKana, "", ""},
    {"ko", "Korean", Script::kHangul, "", ""},
    {"nl", "Dutch", Script::kLatin,
     " de het een en van ik is dat je niet in te zijn op met voor die er maar hij was ook aan wat we ", "ĳë"},
    {"pl", "Polish", Script::kLatin, " w i na z się nie do to jest że o jak a co od po ale za czy tak już dla ",
     "łąęśżźćń"},
    {"pt", "Portuguese", Script::kLatin,
     " de a o que e do da em um para é com não uma os no se na por mais as ele eu você isso ", "ãõçâê"},
    {"ro", "Romanian", Script::kLatin, " de și în a la nu că o este un cu pe să se din ce mai care am are ", "șțăîâ"},
    {"ru", "Russian", Script::kCyrillic,
     " и в не на я что он с как это по но они мы она так его за был вы все у мне есть ", "ыэъё"},
    {"sv", "Swedish", Script::kLatin,
     " och i att det som en på är av för med den till inte om ett han jag har de men var hon du ", "åäö"},
    {"th", "Thai", Script::kThai, "", ""},
    {"tr", "Turkish", Script::kLatin, " ve bir bu da de için ne var ben çok o mi ile ama gibi daha değil sen ",
     "ğışçöü"},
    {"uk", "Ukrainian", Script::kCyrillic,
     " і в не на я що він з як це по але вони ми вона так його за був ви все у мені є та ", "іїєґ"},
    {"vi", "Vietnamese", Script::kLatin, " là và của tôi không có một cho người được đã trong này với bạn ",
     "đơưạảấầẩậắằẵặẹếềểễệịọốồổộớờởợụứừửựỳ"},
    {"zh", "Chinese", Script::kHan, "", ""},
};

const Language* find_language(std::string_view code) {
  const auto found =
      std::find_if(std::begin(kLanguages), std::end(kLanguages), [&](const Language& l) { return l.code == code; });
  return found == std::end(kLanguages) ? nullptr : found;
}

// Lower case for the scripts above, as far as one character becomes one.
char32_t lower(char32_t c) {
  if ((c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x410 && c < 0x430)) return c + 32;
  if (c >= 0x400 && c < 0x410) return c + 80;
  const bool pairs = (c >= 0x100 && c < 0x138) || (c >= 0x14A && c < 0x178) || (c >= 0x1A0 && c < 0x1A6) ||
                     (c >= 0x218 && c < 0x220) || (c >= 0x1E00 && c < 0x1F00);
  if (pairs) return c | 1;
  if ((c >= 0x139 && c < 0x149) || (c >= 0x179 && c < 0x17F)) return c % 2 == 1 ? c + 1 : c;
  return c;
}

struct Evidence {
  double characters[kScripts] = {};  // by script
  std::vector<std::string> words;    // in lower case
  std::u32string letters;            // beyond ASCII
};

Evidence evidence_of(std::string_view text) {
  Evidence evidence;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) evidence.words.push_back(" " + word + " ");
    word.clear();
  };
  for (const auto& [raw, begin, end] : code_points(text)) {
    const char32_t c = lower(raw);
    const Script script = script_of(c);
    if (script == Script::kOther) {
      end_word();
      continue;
    }
    evidence.characters[static_cast<size_t>(script)] += 1;
    append_code_point(word, c);
    if (c >= 0x80) evidence.letters += c;
  }
  end_word();
  return evidence;
}

double score(const Language& language, const Evidence& evidence) {
  const auto of = [&](Script script) { return evidence.characters[static_cast<size_t>(script)]; };
  double all = 0;
  for (const double count : evidence.characters) all += count;
  if (all == 0) return 0;
  // A Japanese text has kana between its Chinese characters; a Chinese text has none.
  if (language.script == Script::kKana)
    return of(Script::kKana) == 0 ? 0 : 4 * (of(Script::kKana) + of(Script::kHan)) / all;
  if (language.script == Script::kHan) return of(Script::kKana) > 0 ? 0 : 4 * of(Script::kHan) / all;
  double score = of(language.script) / all;
  if (language.words.empty()) return 4 * score;
  double words = 0, letters = 0;
  for (const std::string& word : evidence.words) words += language.words.find(word) != std::string_view::npos ? 1 : 0;
  for (const char32_t c : evidence.letters) {
    std::string one;
    append_code_point(one, c);
    letters += language.letters.find(one) != std::string_view::npos ? 1 : 0;
  }
  const auto count = static_cast<double>(std::max<size_t>(1, evidence.words.size()));
  return score * (1 + 3 * words / count + std::min(2.0, 4 * letters / count));
}

std::string_view base_code(std::string_view code) { return code.substr(0, code.find_first_of("-_")); }

}  // namespace

Script script_of(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? Script::kLatin : Script::kOther;
  if (c >= 0xC0 && c < 0x250) return c == 0xD7 || c == 0xF7 ? Script::kOther : Script::kLatin;
  if (c >= 0x1E00 && c < 0x1F00) return Script::kLatin;
  if ((c >= 0x370 && c < 0x400) || (c >= 0x1F00 && c < 0x2000)) return Script::kGreek;
  if (c >= 0x400 && c < 0x530) return Script::kCyrillic;
  if (c >= 0x590 && c < 0x600) return Script::kHebrew;
  if (c >= 0x600 && c < 0x780) return Script::kArabic;
  if (c >= 0x900 && c < 0x980) return Script::kDevanagari;
  if (c >= 0xE00 && c < 0xE80) return Script::kThai;
  if (c >= 0x3040 && c < 0x3100) return Script::kKana;
  if (c >= 0xAC00 && c < 0xD7B0) return Script::kHangul;
  if ((c >= 0x3400 && c < 0xA000) || (c >= 0x20000 && c < 0x32000)) return Script::kHan;
  return Script::kOther;
}

double script_share(std::string_view text, std::string_view language) {
  const Language* known = find_language(base_code(language));
  if (known == nullptr) return 1;
  constexpr double kLettersPerCharacter = 2.5;  // a Chinese character is half a word, a Latin letter a fifth
  double of[kScripts] = {}, all = 0;
  for (const auto& [value, begin, end] : code_points(text)) {
    const Script script = script_of(value);
    if (script == Script::kOther) continue;
    const double letters = script == Script::kHan || script == Script::kHangul ? kLettersPerCharacter : 1;
    of[static_cast<size_t>(script)] += letters;
    all += letters;
  }
  double own = of[static_cast<size_t>(known->script)];
  if (known->script == Script::kKana) own += of[static_cast<size_t>(Script::kHan)];
  return all == 0 ? 1 : own / all;
}

std::string other_language(std::string_view text, std::string_view expected) {
  constexpr size_t kFewestWords = 8;
  constexpr double kCertain = 0.75;  // of a score of at most 6; chosen on sentences of known languages
  const Language* known = find_language(base_code(expected));
  if (known == nullptr || known->words.empty()) return "";
  const Evidence evidence = evidence_of(text);
  if (evidence.words.size() < kFewestWords) return "";
  const Language* best = known;
  for (const Language& language : kLanguages) {
    if (language.script == known->script && score(language, evidence) > score(*best, evidence)) best = &language;
  }
  return score(*best, evidence) > score(*known, evidence) + kCertain ? std::string(best->code) : "";
}

std::vector<Detection> detect_language(std::string_view text, const std::vector<std::string>& candidates) {
  constexpr double kSharpness = 4;
  const Evidence evidence = evidence_of(text);
  std::vector<Detection> detections;
  double sum = 0;
  for (const std::string& code : candidates) {
    const Language* language = find_language(code);
    const double weight = std::exp(kSharpness * (language == nullptr ? 0 : score(*language, evidence)));
    detections.push_back({code, weight});
    sum += weight;
  }
  for (Detection& d : detections) d.confidence /= sum;
  std::stable_sort(detections.begin(), detections.end(),
                   [](const Detection& a, const Detection& b) { return a.confidence > b.confidence; });
  return detections;
}

std::string language_name(const std::string& code) {
  const Language* language = find_language(code);
  return language == nullptr ? code : std::string(language->name);
}

}  // namespace fovea
