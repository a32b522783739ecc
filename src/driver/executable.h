// A program compiled for running in this process over the caller's memory: arguments and results
// are pointers, temporaries lie in scratch memory that the caller lends for one run. An Executable
// never changes once made; several threads may run it at the same time, each with scratch of its
// own. Made by the PJRT plugin (src/pjrt).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/json_output.h"
#include "runtime/step_list.h"

namespace ullage {

class Executable {
 public:
  struct Argument {
    Type type;
    bool donated = false;  // the program may take its memory
    bool aliased = false;  // the caller was promised that a result takes its memory
    // A run writes to its memory, so it must belong to nobody else.
    bool overwritten = false;
  };
  // Where a result is after a run.
  struct Output {
    enum class Kind : uint8_t {
      own,       // in the memory given for it
      argument,  // in an argument's memory
      output,    // in the memory of an earlier result, with the same content
    };
    Type type;
    Kind kind = Kind::own;
    size_t index = 0;  // of the argument or result
  };

  // `planned` must have a plan, made with separate operands.
  static Result<std::unique_ptr<Executable>> make(PlannedProgram& planned,
                                                  const CompileSettings& settings);

  const std::string& name() const { return name_; }  // the module's
  const std::vector<Argument>& arguments() const { return arguments_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }
  // Bytes as planned: everything at the worst moment, arguments and results included.
  const PlanReport& report() const { return report_; }
  double flops() const { return flops_; }
  double bytes_accessed() const { return bytes_accessed_; }
  double predicted_seconds() const { return predicted_seconds_; }

  // One address per argument, of its type's bytes. One per result; those of results that are
  // not Kind::own are not read. `scratch` has scratch_bytes() at a multiple of 64. Returns false if
  // `interrupted` ended the run; exceptions thrown by the user's own code pass through.
  bool run(std::span<std::byte* const> arguments, std::span<std::byte* const> outputs,
           std::byte* scratch, ThreadPool& pool,
           const std::function<bool()>* interrupted = nullptr) const;

 private:
  Executable() = default;

  // Whose memory a region is.
  struct Source {
    enum class Kind : uint8_t { argument, output, constant };
    Kind kind = Kind::argument;
    size_t index = 0;
  };
  struct ConstantOutput {
    size_t output = 0, constant = 0;
    int64_t bytes = 0;
  };

  std::string name_;
  std::vector<Argument> arguments_;
  std::vector<Output> outputs_;
  int64_t scratch_bytes_ = 0;
  PlanReport report_;
  double flops_ = 0, bytes_accessed_ = 0, predicted_seconds_ = 0;

  ExecProgram program_;
  std::unique_ptr<StepList> steps_;  // regions: one per source, then scratch
  std::vector<Source> sources_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> constants_;
  std::vector<ConstantOutput> constant_outputs_;
};

}  // namespace ullage
