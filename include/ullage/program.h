// The public C++ interface: a StableHLO program compiled inside a byte budget, and run. Needs
// nothing but the standard library; link Ullage::ullage (CMake: find_package(Ullage)).
//
//   ullage::Program program = ullage::Program::compile(text, {.memory_budget = 64 << 20});
//   std::vector<ullage::Array> results = program.run(arguments);
//
// Errors of the user's program, options or arguments are thrown as ullage::ProgramError; a budget
// that cannot be met as ullage::OverBudget, which names the smallest one that works. A Program
// never changes; several threads may run it at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ullage {

struct ProgramError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct OverBudget : ProgramError {
  OverBudget(const std::string& what, int64_t floor) : ProgramError(what), floor_bytes(floor) {}
  int64_t floor_bytes;  // the smallest budget that works
};

struct ProgramOptions {
  std::optional<int64_t> memory_budget = {};  // bytes of everything at once
  int threads = 0;                            // 0: one per core
  std::vector<std::string> disable = {};      // passes and planner's moves, by name or NAME@WHERE
};

// Element type by its StableHLO name ("f32", "bf16", "ui8", "complex<f32>"), and extents.
struct ArrayType {
  std::string element;
  std::vector<int64_t> shape;
  bool operator==(const ArrayType&) const = default;
};

// Dense and row-major. Elements below a byte take one each.
struct Array {
  ArrayType type;
  std::vector<std::byte> bytes;
};

// As planned. The peak is all of it at the worst moment.
struct ProgramMemory {
  int64_t argument_bytes = 0, output_bytes = 0, alias_bytes = 0, constant_bytes = 0;
  int64_t temp_bytes = 0, planned_peak_bytes = 0;
};

class Program {
 public:
  // StableHLO as text or as a portable artifact.
  static Program compile(std::string_view stablehlo, const ProgramOptions& options = {});

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  const std::vector<ArrayType>& arguments() const;
  const std::vector<ArrayType>& results() const;
  const ProgramMemory& memory() const;

  // Throws ProgramError where number, types or sizes are not the program's. Arguments that the
  // program donates are copied first, beyond the budget, for the caller's stay as they are.
  std::vector<Array> run(std::span<const Array> arguments) const;
  // The same with arguments given away, `run_donating(std::move(arguments))`: nothing is copied,
  // and results lie in the memory of arguments wherever the plan says so.
  std::vector<Array> run_donating(std::vector<Array> arguments) const;

 private:
  struct State;
  explicit Program(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ullage
