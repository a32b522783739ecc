// Runs the cases of the conformance table: what each engine takes, and whether both compute the
// same.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/table.h"
#include "interp/tensor.h"
#include "ir/ir.h"

namespace ullage::conformance {

// The case's program; null where the operation is not defined for the type. A row that is legal for
// no type at all is a mistake of the table, which the tests find.
std::unique_ptr<Module> case_module(const Row& row, DType dtype);

// Values that make a difference: zeros, ones, the limits of the type, infinities, NaNs, and others.
// Operands of one program are paired in many ways.
std::vector<Tensor> case_inputs(const Row& row, DType dtype, const Module& module);

// Why an engine does not take the program; empty where it does. The compiler's answer needs no code
// to be generated, only to be asked for.
std::string compiler_refusal(const Module& module);
std::string interpreter_refusal(const Row& row, DType dtype, const Module& module);

struct Judgement {
  enum class Kind : uint8_t { passed, refused, wrong };
  Kind kind = Kind::passed;
  std::string what;
};
Judgement judge_case(const Row& row, DType dtype, const Module& module);

// Per operation: the forms and types that are legal, and who takes them.
struct Support {
  std::vector<DType> legal, interpreted, compiled;   // in every form that is legal for the type
  std::map<std::string, std::vector<DType>> partly;  // form: types that the compiler refuses
  std::map<std::string, std::string> refusals;       // form: the message
  int64_t cases = 0, compiled_cases = 0;
};
std::map<OpKind, Support> coverage();

std::string coverage_matrix(const std::map<OpKind, Support>& support);
std::string markdown(const std::map<OpKind, Support>& support);

}  // namespace ullage::conformance
