// Hostile documents: each causes an Error with a short message, never a crash.
#include "base/json.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace fovea {
namespace {

std::string nested(size_t levels, const std::string& open, const std::string& close) {
  std::string text;
  for (size_t i = 0; i < levels; ++i) text += open;
  for (size_t i = 0; i < levels; ++i) text += close;
  return text;
}

std::string error_of(std::string_view text, const JsonLimits& limits = {}) {
  try {
    parse_json(text, "config.json", limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Json, ReadsWhatIsWithinTheLimits) {
  EXPECT_EQ(parse_json(R"({"b":[1,2.5,null,true],"a":"[[[{"})", "x").dump(), R"({"b":[1,2.5,null,true],"a":"[[[{"})");
  EXPECT_EQ(parse_json(nested(64, "[", "]"), "x").size(), 1u);
  EXPECT_EQ(error_of(nested(64, "[", "]")), "");
}

TEST(Json, DepthIsBounded) {
  EXPECT_EQ(error_of(nested(65, "[", "]")),
            "config.json: expected JSON nested at most 64 levels deep, got more at line 1, column 65");
  for (const size_t levels : {80'000u, 5'000'000u}) {
    EXPECT_NE(error_of(nested(levels, "[", "]")), "");
    EXPECT_NE(error_of(nested(levels, "{\"a\":", "}")), "");
    EXPECT_NE(error_of(std::string(levels, '[')), "");
    // Brackets in strings and behind escaped quotes are text.
    EXPECT_EQ(error_of("\"\\\"" + std::string(levels, '[') + "\""), "");
  }
}

TEST(Json, MembersAreBounded) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":0";
  text += "}";
  EXPECT_NE(error_of(text).find("at most 10000 members"), std::string::npos);
}

TEST(Json, ValuesAreBounded) {
  EXPECT_EQ(error_of("[0,1,2]", {.values = 3}), "");
  EXPECT_EQ(error_of("[0,1,2]", {.values = 2}),
            "config.json: expected JSON of at most 2 values, got more at line 1, column 5");
  std::string text = "[0";
  for (int i = 0; i < 30'000'000; ++i) text += ",0";
  EXPECT_NE(error_of(text + "]").find("at most 30000000 values"), std::string::npos);
}

TEST(Json, NumbersThatOverflowAreErrors) {
  EXPECT_EQ(error_of(R"({"beam":1e400})"),
            "config.json: expected numbers between -1.8e308 and 1.8e308, got one outside");
  EXPECT_NE(error_of(R"({"beam":)" + std::string(1'000'000, '9') + "}"), "");
  EXPECT_EQ(error_of("1e-400"), "");
}

TEST(Json, SyntaxErrorsNameTheirPlaceAndStayShort) {
  EXPECT_EQ(error_of("{\"a\": 1,\n \"b\": nul}"),
            "config.json: expected JSON in UTF-8, got a syntax error at line 2, column 10");
  EXPECT_EQ(error_of(""), "config.json: expected JSON in UTF-8, got a syntax error at line 1, column 1");
  for (const std::string& text :
       {std::string("\xff"), std::string("]]]]"), std::string("{]}"), std::string("\"\\"), std::string("NaN"),
        std::string("[1,]"), std::string(1'000'000, '"'), "\"" + std::string(1'000'000, 'x')}) {
    const std::string error = error_of(text);
    EXPECT_NE(error, "") << text.substr(0, 20);
    EXPECT_LT(error.size(), 200u);
  }
}

TEST(Json, BriefValuesAreBounded) {
  EXPECT_EQ(brief_value(Json::parse("[1,2,3]")), "a list of 3");
  EXPECT_EQ(brief_value(Json::parse(R"({"a":1})")), "an object of 1 members");
  EXPECT_EQ(brief_value(Json(2.5)), "2.5");
  EXPECT_EQ(brief_value(Json("short")), "\"short\"");
  EXPECT_LT(brief_value(Json(std::string(1'000'000, 'x'))).size(), 90u);
  EXPECT_EQ(brief("a\xE7\x88\xB1"
                  "b",
                  2),
            "a...");  // no half character
}

}  // namespace
}  // namespace fovea
