#include "evaluate/references.h"

#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

using Lines = std::vector<std::vector<std::string>>;

TEST(References, ALineIsOneReferenceOrAnArrayOfThem) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_references(folder.file("plain", "a b\n\nc\n")), (Lines{{"a b"}, {""}, {"c"}}));
  EXPECT_EQ(read_references(folder.file("json", "[\"a b\", \"\\u00e9\\n\"]\n [\"c\"]\n")),
            (Lines{{"a b", "é "}, {"c"}}));
  // Text may start with a bracket.
  EXPECT_EQ(read_references(folder.file("text", "[1] a\n[\"b\"]\n")), (Lines{{"[1] a"}, {"[\"b\"]"}}));
  EXPECT_EQ(read_references(folder.file("list", "[1, 2]\n[]\n")), (Lines{{"[1, 2]"}, {"[]"}}));
  EXPECT_EQ(read_references(folder.file("open", "[[[[\n")), (Lines{{"[[[["}}));
}

TEST(References, AMalformedLineIsNamed) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& second) {
    return read_references(folder.file("refs", "[\"a\"]\n" + second + "\n"));
  };
  EXPECT_ERROR(read("b"), "refs:2: expected a JSON array of references, because line 1 is one, got b");
  EXPECT_ERROR(read(""), "refs:2: expected a JSON array of references");
  EXPECT_ERROR(read("[]"), "refs:2: expected a JSON array of references, because line 1 is one, got an empty one");
  EXPECT_ERROR(read("[\"a\", 1]"), "refs:2: ");
  EXPECT_ERROR(read("[\"a\""), "refs:2: ");
  EXPECT_ERROR(read(std::string(100'000, '[')), "refs:2: ");
}

}  // namespace
}  // namespace fovea
