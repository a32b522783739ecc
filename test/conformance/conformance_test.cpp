// The table is complete, and the page that is printed from it is up to date.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "conformance/run.h"
#include "ops/verify.h"
#include "syntax/reader.h"

namespace ullage::conformance {
namespace {

TEST(Conformance, EveryOperationHasARow) {
  std::set<OpKind> covered;
  for (const Row& row : rows()) covered.insert(row.kind);
  for (const Exempt& e : exempt()) {
    EXPECT_FALSE(covered.contains(e.kind)) << info(e.kind).mnemonic << " has rows and is exempt";
    covered.insert(e.kind);
  }
  for (int i = 0; i < kOpKindCount; ++i) {
    auto kind = static_cast<OpKind>(i);
    EXPECT_TRUE(covered.contains(kind)) << info(kind).mnemonic << " has no row";
  }
}

// Every row is legal for some type; with none of them it would test nothing.
TEST(Conformance, EveryRowIsLegalForSomeType) {
  for (const Row& row : rows()) {
    std::string why;
    bool legal = false;
    for (int d = 0; d < kDTypeCount && !legal; ++d) {
      auto dtype = static_cast<DType>(d);
      legal = case_module(row, dtype) != nullptr;
      if (legal || (dtype != DType::f32 && dtype != DType::i32)) continue;
      Result<std::unique_ptr<Module>> read = read_text(program_text(row, dtype), "case.mlir");
      why += read ? to_string(verify(**read).diagnostics()) : to_string(read.diagnostics());
    }
    EXPECT_TRUE(legal) << info(row.kind).mnemonic << ", " << row.form << ":\n" << why;
  }
}

TEST(Conformance, PageIsUpToDate) {
  std::ifstream file(std::string(ULLAGE_SOURCE_DIR) + "/docs/reference/operations.md");
  ASSERT_TRUE(file) << "docs/reference/operations.md is missing";
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), markdown(coverage()))
      << "run: conformance --markdown > docs/reference/operations.md";
}

}  // namespace
}  // namespace ullage::conformance
