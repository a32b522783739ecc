// conformance [--coverage | --markdown] [OPERATION...]
// Without an option: runs every case of the table on the compiled path and compares with the
// interpreter. --coverage prints a matrix of operations and types; --markdown the page
// docs/reference/operations.md.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/run.h"

using namespace ullage;
using namespace ullage::conformance;

int main(int argc, char** argv) {
  std::vector<std::string> operations;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--coverage") return fmt::print("{}", coverage_matrix(coverage())), 0;
    if (word == "--markdown") return fmt::print("{}", markdown(coverage())), 0;
    operations.push_back(word);
  }
  int64_t passed = 0, refused = 0, wrong = 0;
  for (const Row& row : rows()) {
    if (!operations.empty() &&
        std::find(operations.begin(), operations.end(), info(row.kind).name) == operations.end())
      continue;
    for (int d = 0; d < kDTypeCount; ++d) {
      auto dtype = static_cast<DType>(d);
      std::unique_ptr<Module> module = case_module(row, dtype);
      if (!module) continue;
      Judgement judgement = judge_case(row, dtype, *module);
      passed += judgement.kind == Judgement::Kind::passed;
      refused += judgement.kind == Judgement::Kind::refused;
      if (judgement.kind != Judgement::Kind::wrong) continue;
      ++wrong;
      fmt::print("{} ({}) of {}: {}\n", info(row.kind).name, row.form, name(dtype), judgement.what);
      fflush(stdout);
    }
  }
  fmt::print("{} passed, {} refused by the compiler, {} wrong\n", passed, refused, wrong);
  return wrong == 0 ? 0 : 1;
}
