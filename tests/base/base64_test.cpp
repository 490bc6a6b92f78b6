#include "base/base64.h"

#include <gtest/gtest.h>

namespace fovea {
namespace {

TEST(Base64, IsAsInTheStandard) {
  // RFC 4648, section 10.
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(from_base64(to_base64(all)), all);
}

TEST(Base64, RefusesOtherText) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Z===", "Zg==Zg==", "Zm9\n", "Zm-v", "Zm9v=", "====", "\xff\xff\xff\xff"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace fovea
