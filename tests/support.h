// Helpers that several tests share.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

// Expects the statement to throw an Error whose message contains the text.
#define EXPECT_ERROR(statement, text)                                        \
  do {                                                                       \
    std::string fovea_message = "no error";                                  \
    try {                                                                    \
      static_cast<void>(statement);                                          \
    } catch (const ::fovea::Error& error) {                                  \
      fovea_message = error.what();                                          \
    }                                                                        \
    EXPECT_NE(fovea_message.find(text), std::string::npos) << fovea_message; \
  } while (false)
