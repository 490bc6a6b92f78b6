#include "base/fields.h"

#include <gtest/gtest.h>

#include "support.h"

namespace fovea {
namespace {

struct Inner {
  double rate = 0.5;
  std::string kind = "soft";
  void describe(Fields& f) {
    f.add("rate", rate, "A share.")
        .at_least(0)
        .below(1)
        .also_called({"lr"})
        .needs(kind == "hard", f.key("kind") + " = hard");
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
    f.add("tied", tied, "Whether.").needs(layers == 3, "layers = 3");
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

TEST(Fields, SuggestWhatWasMeant) {
  Outer settings;
  const Fields fields = fields_of(settings);
  EXPECT_EQ(fields.nearest_key("inner.lr"), "inner.rate");    // its other name
  EXPECT_EQ(fields.nearest_key("lr"), "inner.rate");          // in another section
  EXPECT_EQ(fields.nearest_key("kind"), "inner.kind");        // the section left out
  EXPECT_EQ(fields.nearest_key("inner.layers"), "layers");    // the wrong section
  EXPECT_EQ(fields.nearest_key("inner.knid"), "inner.kind");  // letters swapped
  EXPECT_EQ(fields.nearest_key("inner.rate_max"), "inner.rate");
  EXPECT_EQ(fields.nearest_key("lyers"), "layers");
  EXPECT_EQ(fields.nearest_key("knid"), "inner.kind");  // both
  EXPECT_EQ(fields.nearest_key("inner.q"), "");
  EXPECT_EQ(nearest_spelling("lr", {"ema", "warmup"}), "");
}

TEST(Fields, SayWhatHasNoEffect) {
  Outer settings;
  EXPECT_TRUE(unused_settings(settings).empty());
  settings.tied = true;
  settings.inner.rate = 0.1;
  const auto unused = unused_settings(settings);
  ASSERT_EQ(unused.size(), 2u);
  EXPECT_EQ(unused[0].message, "tied has no effect: it needs layers = 3");
  EXPECT_EQ(unused[1].message, "inner.rate has no effect: it needs inner.kind = hard");
  settings.layers = 3;
  settings.inner.kind = "hard";
  EXPECT_TRUE(unused_settings(settings).empty());
  EXPECT_EQ(unused_settings(Outer(), {"tied"}).size(), 1u);  // at its default, but named
}

TEST(Fields, RefuseWithWhatWasExpected) {
  Outer settings;
  Fields fields = fields_of(settings);
  EXPECT_ERROR(fields.find("layers").set(int64_t{0}), "layers: expected an integer of at least 1, got 0");
  EXPECT_ERROR(fields.find("layers").set(1.5), "layers: expected an integer of at least 1, got 1.5");
  EXPECT_ERROR(fields.find("layers").set_text("two"), "layers: expected an integer of at least 1, got \"two\"");
  EXPECT_ERROR(fields.find("inner.rate").set(1.0), "inner.rate: expected a number of at least 0 and below 1, got 1.0");
  EXPECT_ERROR(fields.find("inner.kind").set(std::string("sofft")),
               "inner.kind: expected one of soft, hard, sparse, got \"sofft\" (did you mean soft?)");
  EXPECT_ERROR(fields.find("tied").set_text("yes"), "tied: expected true or false, got \"yes\"");
  EXPECT_ERROR(fields.find("inner.rat"), "inner.rat: there is no such setting; did you mean inner.rate?");
  EXPECT_ERROR(fields.find("iner.kind"), "iner.kind: there is no such setting; did you mean inner.kind?");
  EXPECT_ERROR(fields.find("inner.xyzzy"),
               "inner.xyzzy: there is no such setting; expected one of inner.rate, inner.kind");
  EXPECT_EQ(settings.layers, 2);  // nothing was changed on the way
}

}  // namespace
}  // namespace fovea
