// Runs a random program on the compiled path in several ways and says what is wrong: other results
// than they may be, or other bits under a budget, with another number of threads, in a second run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "random/generator.h"

namespace ullage::random_programs {

struct Verdict {
  enum class Kind : uint8_t { fine, refused, wrong };
  Kind kind = Kind::fine;
  std::string what;
};

struct CheckOptions {
  bool budgets = true;  // also at the floor and between it and no budget
  bool threads = true;  // also with two threads
  // Only one of these variants, the n-th modulo their number; compiling takes most of the time.
  std::optional<uint64_t> only;
};

// `want` has the program's results.
Verdict check(const Module& module, const std::vector<Tensor>& inputs,
              const std::vector<Bounded>& want, const CheckOptions& options = {});

// A smaller program that is wrong in the same way. Stops after `attempts` runs.
struct Reduced {
  std::unique_ptr<Module> module;
  std::vector<Tensor> inputs;
  Verdict verdict;
};
Reduced minimise(const Module& module, const std::vector<Tensor>& inputs, const Verdict& verdict,
                 const CheckOptions& options, int attempts);

}  // namespace ullage::random_programs
