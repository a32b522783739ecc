// A module from program text, read and verified. Shared by the tests of code generation.
#pragma once

#include <gtest/gtest.h>

#include "ops/verify.h"
#include "syntax/reader.h"

namespace ullage::testing_cpu {

// Null, with a failure of the test, where the text is no program.
inline std::unique_ptr<Module> read_program(const std::string& text) {
  Result<std::unique_ptr<Module>> module = read_text(text, "test.mlir");
  if (!module.ok()) {
    ADD_FAILURE() << to_string(module.diagnostics()) << text;
    return nullptr;
  }
  Status verified = verify(**module);
  EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : to_string(verified.diagnostics())) << text;
  return std::move(*module);
}

}  // namespace ullage::testing_cpu
