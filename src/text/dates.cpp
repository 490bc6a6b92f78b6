// A day in the written forms of eleven languages. No form is ambiguous: a slash means month/day/year, a dot
// day.month.year, and years have four digits or an era.

#include <chrono>

#include "base/error.h"
#include "text/generators.h"

namespace fovea {

namespace chrono = std::chrono;

namespace {

// In a form, % followed by a letter is replaced by a part of the date:
// d day, D with two digits, o with an English ending, f with the French one of a first, i with the Italian,
// j in Chinese numerals; m month, M with two digits, B its name, b that in three letters; A weekday;
// Y year, z in Chinese numerals, E of the Japanese era.
struct Language {
  std::string_view months[12], weekdays[7];  // January and Monday are first
  std::vector<std::string_view> forms;
};

const std::vector<Language>& languages() {
  static const std::vector<Language> list = {
      {{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December"},
       {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"},
       {"%B %d, %Y", "%d %B %Y", "%A, %B %d, %Y", "%A, %d %B %Y", "%B %o, %Y", "the %o of %B %Y", "%b %d, %Y",
        "%d %b %Y", "%m/%d/%Y", "%M/%D/%Y", "%Y/%M/%D"}},
      {{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
        "Dezember"},
       {"Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"},
       {"%d. %B %Y", "%A, %d. %B %Y", "%A, den %d. %B %Y", "am %d. %B %Y", "%d.%m.%Y", "%D.%M.%Y"}},
      {{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
        "décembre"},
       {"lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"},
       {"%f %B %Y", "le %f %B %Y", "%A %f %B %Y"}},
      {{"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre",
        "diciembre"},
       {"lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"},
       {"%d de %B de %Y", "%A, %d de %B de %Y", "el %d de %B de %Y"}},
      {{"gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre",
        "novembre", "dicembre"},
       {"lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"},
       {"%i %B %Y", "%A %i %B %Y"}},
      {{"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro",
        "dezembro"},
       {"segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado", "domingo"},
       {"%i de %B de %Y", "%A, %i de %B de %Y"}},
      {{"januari", "februari", "maart", "april", "mei", "juni", "juli", "augustus", "september", "oktober", "november",
        "december"},
       {"maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"},
       {"%d %B %Y", "%A %d %B %Y", "op %d %B %Y"}},
      {{"января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября", "ноября",
        "декабря"},
       {"понедельник", "вторник", "среда", "четверг", "пятница", "суббота", "воскресенье"},
       {"%d %B %Y г.", "%d %B %Y года", "%A, %d %B %Y года"}},
      {{"一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"},
       {"星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"},
       {"%Y年%m月%d日", "%Y年%m月%d日%A", "%Y年%m月%d日，%A", "%z年%B%j日", "%z年%B%j日%A"}},
      {{"1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"},
       {"月", "火", "水", "木", "金", "土", "日"},
       {"%Y年%B%d日（%A）", "%Y年%B%d日%A曜日", "%E年%B%d日", "%E年%B%d日（%A）"}},
      {{"1월", "2월", "3월", "4월", "5월", "6월", "7월", "8월", "9월", "10월", "11월", "12월"},
       {"월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일"},
       {"%Y년 %B %d일", "%Y년 %B %d일 %A"}},
  };
  return list;
}

std::string_view ordinal_ending(unsigned day) {
  if (day / 10 == 1) return "th";
  switch (day % 10) {
    case 1: return "st";
    case 2: return "nd";
    case 3: return "rd";
    default: return "th";
  }
}

std::string chinese_digits(int number) {
  constexpr std::string_view kDigits[] = {"〇", "一", "二", "三", "四", "五", "六", "七", "八", "九"};
  std::string text;
  for (const char digit : std::to_string(number)) text += kDigits[digit - '0'];
  return text;
}

// The era of a day, and the year in it; the first is written 元.
std::string japanese_year(chrono::year_month_day day) {
  struct Era {
    std::string_view name;
    chrono::year_month_day first;
  };
  constexpr Era kEras[] = {{"令和", chrono::year(2019) / 5 / 1},
                           {"平成", chrono::year(1989) / 1 / 8},
                           {"昭和", chrono::year(1926) / 12 / 25},
                           {"大正", chrono::year(1912) / 7 / 30},
                           {"明治", chrono::year(1868) / 1 / 25}};
  const Era* era = kEras;
  while (day < era->first) ++era;
  const int year = int{day.year()} - int{era->first.year()} + 1;
  return fmt::format("{}{}", era->name, year == 1 ? "元" : std::to_string(year));
}

std::string part(char letter, const Language& language, chrono::year_month_day date) {
  const auto month = unsigned{date.month()}, day = unsigned{date.day()};
  const std::string_view name = language.months[month - 1];
  switch (letter) {
    case 'd': return std::to_string(day);
    case 'D': return fmt::format("{:02}", day);
    case 'o': return fmt::format("{}{}", day, ordinal_ending(day));
    case 'f': return day == 1 ? "1er" : std::to_string(day);
    case 'i': return day == 1 ? "1º" : std::to_string(day);
    case 'j': return chinese_number(day);
    case 'm': return std::to_string(month);
    case 'M': return fmt::format("{:02}", month);
    case 'B': return std::string(name);
    case 'b': return std::string(name.substr(0, 3));
    case 'A': {
      const chrono::weekday weekday{chrono::sys_days(date)};
      return std::string(language.weekdays[weekday.iso_encoding() - 1]);
    }
    case 'Y': return std::to_string(int{date.year()});
    case 'z': return chinese_digits(int{date.year()});
    default: return japanese_year(date);
  }
}

}  // namespace

std::vector<std::string> written_dates(int year, int month, int day) {
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  check(date.ok() && year >= 1900, "dates: expected a day from 1900 on, got {}-{}-{}", year, month, day);
  std::vector<std::string> dates;
  for (const Language& language : languages()) {
    for (const std::string_view form : language.forms) {
      std::string& text = dates.emplace_back();
      for (size_t i = 0; i < form.size(); ++i) {
        if (form[i] == '%') {
          text += part(form[++i], language, date);
        } else {
          text += form[i];
        }
      }
    }
  }
  return dates;
}

}  // namespace fovea
