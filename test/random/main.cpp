// random_programs [--first SEED] [--count N] [--seconds S] [--no-budgets] [--no-threads]
//                 [--all] [--out DIR] [--print] [--keep-going N]
// Compares the compiled path with the interpreter on random programs, one per seed. Each runs
// without a budget and in one other way, or with --all in every way. A program that is wrong is
// made smaller and written to DIR as SEED.mlir and SEED.npz:
//   ullage run SEED.mlir --input SEED.npz --compare interpreter
// Prints what was covered; exits with 1 if anything was wrong.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "driver/npy.h"
#include "random/check.h"
#include "syntax/writer.h"

namespace {

using namespace ullage;
using namespace ullage::random_programs;

volatile uint64_t current_seed = 0;

extern "C" void crashed(int signal) {
  char text[64];
  int n = snprintf(text, sizeof text, "seed %llu: signal %d\n",
                   static_cast<unsigned long long>(current_seed), signal);
  if (write(2, text, static_cast<size_t>(n)) < 0) _exit(2);
  _exit(1);
}

void save(const std::string& directory, uint64_t seed, const Module& module,
          const std::vector<Tensor>& inputs, const std::string& what) {
  std::string base = fmt::format("{}/{}", directory, seed);
  std::ofstream(base + ".mlir") << "// " << what << "\n" << write_text(module);
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < inputs.size(); ++i)
    arrays.push_back({fmt::format("arg{}", i),
                      inputs[i].type(),
                      {inputs[i].data(), static_cast<size_t>(inputs[i].size_bytes())}});
  if (Status written = write_npz(base + ".npz", arrays); !written)
    fmt::print(stderr, "{}", to_string(written.diagnostics()));
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t first = 1;
  int64_t count = 1000, keep_going = 20;
  double seconds = 1e9;
  std::string directory;
  bool print = false, all = false;
  CheckOptions options;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto next = [&] { return i + 1 < argc ? argv[++i] : "0"; };
    if (word == "--first")
      first = std::strtoull(next(), nullptr, 10);
    else if (word == "--count")
      count = std::strtoll(next(), nullptr, 10);
    else if (word == "--seconds")
      seconds = std::strtod(next(), nullptr);
    else if (word == "--keep-going")
      keep_going = std::strtoll(next(), nullptr, 10);
    else if (word == "--out")
      directory = next();
    else if (word == "--no-budgets")
      options.budgets = false;
    else if (word == "--no-threads")
      options.threads = false;
    else if (word == "--all")
      all = true;
    else if (word == "--print")
      print = true;
    else
      return fmt::print(stderr, "unknown option '{}'\n", word), 2;
  }
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) signal(s, crashed);

  GeneratorCounts counts;
  std::map<std::string, std::vector<uint64_t>> refusals;  // seeds by what is said
  int64_t fine = 0, refused = 0, wrong = 0, exact = 0, results = 0;
  auto begin = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double generating = 0;
  int64_t done = 0;
  for (; done < count && elapsed() < seconds && wrong < keep_going; ++done) {
    uint64_t seed = first + static_cast<uint64_t>(done);
    current_seed = seed;
    double before = elapsed();
    RandomProgram program = Generator(seed, counts).generate();
    generating += elapsed() - before;
    if (print) fmt::print("{}\n", write_text(*program.module));
    if (!all) options.only = seed;
    Verdict verdict = check(*program.module, program.inputs, program.results, options);
    for (const Bounded& result : program.results) exact += result.exact(), ++results;
    if (verdict.kind == Verdict::Kind::fine) ++fine;
    if (verdict.kind == Verdict::Kind::refused) ++refused, refusals[verdict.what].push_back(seed);
    if (verdict.kind != Verdict::Kind::wrong) continue;
    ++wrong;
    fmt::print("seed {}: {}\n", seed, verdict.what);
    fflush(stdout);
    if (directory.empty()) continue;
    Reduced small = minimise(*program.module, program.inputs, verdict, options, 400);
    fmt::print("  smaller: {}\n", small.verdict.what);
    fflush(stdout);
    save(directory, seed, *small.module, small.inputs,
         fmt::format("seed {}: {}", seed, small.verdict.what));
  }
  fmt::print(
      "{} programs from seed {}: {} fine, {} refused by the compiler, {} wrong; {} of {} "
      "results exact; {:.0f} s, {:.0f} s of them generating\n",
      done, first, fine, refused, wrong, exact, results, elapsed(), generating);
  fmt::print("operations:");
  for (const auto& [name, n] : counts.made) fmt::print(" {} {}", name, n);
  fmt::print("\n{} kinds\n", counts.made.size());
  for (const auto& [what, seeds] : refusals)
    fmt::print("refused {} times, first seed {}: {}\n", seeds.size(), seeds[0], what);
  for (const auto& [what, n] : counts.refused)
    if (n * 20 > done) fmt::print("taken back {} times: {}\n", n, what);
  return wrong == 0 ? 0 : 1;
}
