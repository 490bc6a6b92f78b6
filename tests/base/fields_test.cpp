#include "base/fields.h"

#include <gtest/gtest.h>

#include "support.h"

namespace fovea {
namespace {

struct Inner {
  double rate = 0.5;
  std::string kind = "soft";
  void describe(Fields& f) {
    f.add("rate", rate, "A share.").at_least(0).below(1);
    f.add("kind", kind, "A choice.").choices({"soft", "hard", "sparse"});
  }
};

struct Outer {
  int64_t layers = 2;
  bool tied = false;
  std::vector<std::string> files;
  Inner inner;
  void describe(Fields& f) {
    f.add("layers", layers, "How many.").at_least(1);
    f.add("tied", tied, "Whether.");
    f.add("files", files, "Which.");
    f.section("inner", inner);
  }
};

TEST(Fields, SetTheMembersTheyAreBoundTo) {
  Outer settings;
  Fields fields = fields_of(settings);
  fields.find("layers").set(int64_t{5});
  fields.find("inner.rate").set_text("0.25");
  fields.find("inner.kind").set_text("hard");
  fields.find("tied").set_text("true");
  fields.find("files").set_text("a.txt,b.txt");
  EXPECT_EQ(settings.layers, 5);
  EXPECT_EQ(settings.inner.rate, 0.25);
  EXPECT_EQ(settings.inner.kind, "hard");
  EXPECT_TRUE(settings.tied);
  EXPECT_EQ(settings.files, (std::vector<std::string>{"a.txt", "b.txt"}));
  fields.find("inner.rate").set(int64_t{0});  // a whole number is a number, too
  EXPECT_EQ(settings.inner.rate, 0.0);
}

TEST(Fields, WriteWhatARecipeWouldRead) {
  Outer settings;
  settings.files = {"say \"hi\""};
  Fields fields = fields_of(settings);
  EXPECT_EQ(fields.find("layers").text(), "2");
  EXPECT_EQ(fields.find("inner.rate").text(), "0.5");
  EXPECT_EQ(fields.find("files").text(), "[\"say \\\"hi\\\"\"]");
  EXPECT_EQ(fields.find("tied").text(), "false");
  settings.inner.rate = 0.0;
  EXPECT_EQ(fields.find("inner.rate").text(), "0.0");
}

TEST(Fields, RefuseWithWhatWasExpected) {
  Outer settings;
  Fields fields = fields_of(settings);
  EXPECT_ERROR(fields.find("layers").set(int64_t{0}), "layers: expected a whole number of at least 1, got 0");
  EXPECT_ERROR(fields.find("layers").set(1.5), "layers: expected a whole number of at least 1, got 1.5");
  EXPECT_ERROR(fields.find("layers").set_text("two"), "layers: expected a whole number of at least 1, got \"two\"");
  EXPECT_ERROR(fields.find("inner.rate").set(1.0), "inner.rate: expected a number of at least 0 and below 1, got 1.0");
  EXPECT_ERROR(fields.find("inner.kind").set(std::string("sofft")),
               "inner.kind: expected one of soft, hard, sparse, got \"sofft\" (did you mean soft?)");
  EXPECT_ERROR(fields.find("tied").set_text("yes"), "tied: expected true or false, got \"yes\"");
  EXPECT_ERROR(fields.find("inner.rat"),
               "inner.rat: no such setting (did you mean inner.rate?); there are: inner.rate, inner.kind");
  EXPECT_ERROR(fields.find("iner.kind"),
               "iner.kind: no such setting (did you mean inner.kind?); there are: inner.rate, inner.kind");
  EXPECT_EQ(settings.layers, 2);  // nothing was changed on the way
}

}  // namespace
}  // namespace fovea
