// How one operation is evaluated: a table from OpKind to a function of concrete operands. Private
// to interp/.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "interp/interpret.h"
#include "interp/tensor.h"
#include "ir/ir.h"

namespace ullage::interp {

using Tensors = std::vector<Tensor>;
struct Process;

struct Evaluation {
  const Op& op;
  Tensors& operands;  // owned: a handler may update one in place
  std::vector<Type>
      types;  // of the results; only operations with run-time shapes find dynamic ones here
  const Module* module = nullptr;  // null when folding one operation
  // Values from outside that the operation's regions use.
  std::function<const Tensor*(const Value*)> outer = nullptr;
  CheckReport* checks = nullptr;
  Process* process = nullptr;  // null when folding one operation

  Diagnostic problem(
      const std::string& what) const;  // "stablehlo.sort: what", placed at the operation
  SourceRange where() const;
};

using Handler = Result<Tensors> (*)(Evaluation&);
Handler handler_of(OpKind kind);  // null for control flow, which the interpreter itself does, and
                                  // for what is not supported

struct HandlerRow {
  OpKind kind;
  Handler handler;
};
std::span<const HandlerRow> movement_handlers();
std::span<const HandlerRow> gather_scatter_handlers();
std::span<const HandlerRow> dynamic_handlers();
std::span<const HandlerRow> reduction_handlers();
std::span<const HandlerRow> sort_handlers();
std::span<const HandlerRow> linalg_handlers();
std::span<const HandlerRow> decomposition_handlers();
std::span<const HandlerRow> convolution_handlers();
std::span<const HandlerRow> fft_handlers();
std::span<const HandlerRow> normalization_handlers();
std::span<const HandlerRow> random_handlers();
std::span<const HandlerRow> check_handlers();
std::span<const HandlerRow> collective_handlers();
Result<Tensors> evaluate_elementwise(Evaluation& e);
Result<Tensors> evaluate_map(Evaluation& e);

// An operation of `kind` on whole tensors, for definitions in terms of other operations.
Result<Tensor> apply(Evaluation& e, OpKind kind, std::vector<const Tensor*> operands,
                     const Type& result, const Attributes& attributes = {});

// Runs the evaluation of `op` with these operands; adds the place to diagnostics.
Result<Tensors> evaluate_op(Evaluation& e);

}  // namespace ullage::interp
