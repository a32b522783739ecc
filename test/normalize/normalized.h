// For tests of rewrites that keep every bit: normalises a program, and compares by the interpreter
// what it computes before and after.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "interp/interpret.h"
#include "normalize/normalize.h"
#include "ops/verify.h"
#include "syntax/reader.h"

namespace ullage {

inline std::unique_ptr<Module> read(const std::string& text) {
  Result<std::unique_ptr<Module>> module = read_text(text, "test.mlir");
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : to_string(module.diagnostics()));
  Status verified = verify(**module);
  EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : to_string(verified.diagnostics()));
  return std::move(*module);
}

inline std::vector<Tensor> arguments(const Module& module) {
  std::vector<Tensor> out;
  for (Value* argument : module.entry()->body().arguments()) {
    std::vector<std::byte> bytes(static_cast<size_t>(argument->type.bytes()));
    for (size_t i = 0; i * 4 < bytes.size(); ++i) {
      float f = static_cast<float>((i * 7 + 3) % 23) - 9;
      int32_t n = static_cast<int32_t>(i % 3) + 1;
      std::memcpy(bytes.data() + i * 4,
                  argument->type.dtype == DType::i32 ? static_cast<void*>(&n) : &f, 4);
    }
    out.push_back(Tensor::from(Literal::make(argument->type, std::move(bytes))));
  }
  return out;
}

// Normalises a program and compares what it computes before and after; returns it.
inline std::unique_ptr<Module> normalized(const std::string& text) {
  auto before = read(text), after = read(text);
  EXPECT_TRUE(normalize(*after).ok());
  Status verified = verify(*after);
  EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : to_string(verified.diagnostics()));
  auto want = interpret(*before, "main", arguments(*before));
  auto got = interpret(*after, "main", arguments(*after));
  EXPECT_TRUE(want.ok() && got.ok());
  if (!want.ok() || !got.ok()) return after;
  EXPECT_EQ(want->size(), got->size());
  for (size_t i = 0; i < want->size(); ++i) {
    EXPECT_EQ((*want)[i].size_bytes(), (*got)[i].size_bytes());
    EXPECT_EQ(std::memcmp((*want)[i].data(), (*got)[i].data(), (*want)[i].size_bytes()), 0)
        << "result " << i;
  }
  return after;
}

inline int count(const Module& module, OpKind kind) {
  int found = 0;
  walk(module.entry()->body(), [&](Op* op) { found += op->kind == kind; });
  return found;
}

}  // namespace ullage
