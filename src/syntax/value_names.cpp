#include "syntax/value_names.h"

#include <fmt/format.h>

namespace ullage::syntax {

namespace {

// Numbers that go on from a region to those inside it, and start there again for its siblings. All
// values of a region are named before those of nested regions.
struct Counters {
  size_t value = 0, argument = 0, conflict = 0;
  // Names that are taken without a number.
  bool c = false, cst = false, iter_arg = false, output_state = false, output = false;

  std::string unique(std::string_view name, bool& taken) {
    if (taken) return fmt::format("{}_{}", name, conflict++);
    taken = true;
    return std::string(name);
  }
};

void name_region(const Region& region, Counters counters) {
  const bool loop = region.parent() && region.parent()->kind == OpKind::while_;
  for (Value* argument : region.arguments())
    argument->name = loop ? counters.unique("iterArg", counters.iter_arg)
                          : fmt::format("arg{}", counters.argument++);
  bool nested = false;
  for (Op* op : region) {
    nested |= op->num_regions() != 0;
    if (op->num_results() == 0) continue;
    if (op->kind == OpKind::constant) {
      const Type& type = op->result()->type;
      const bool whole = !type.quantized && (is_int(type.dtype) || type.dtype == DType::i1);
      op->result()->name =
          whole ? counters.unique("c", counters.c) : counters.unique("cst", counters.cst);
      continue;
    }
    if (op->kind == OpKind::rng_bit_generator && op->num_results() == 2) {
      op->result(0)->name = counters.unique("output_state", counters.output_state);
      op->result(1)->name = counters.unique("output", counters.output);
      continue;
    }
    const size_t number = counters.value++;
    if (op->num_results() == 1) {
      op->result()->name = std::to_string(number);
      continue;
    }
    for (size_t i = 0; i < op->num_results(); ++i)
      op->result(i)->name = fmt::format("{}#{}", number, i);
  }
  if (!nested) return;
  for (Op* op : region)
    for (size_t i = 0; i < op->num_regions(); ++i) name_region(op->nested(i), counters);
}

}  // namespace

void name_values(Function& function) {
  name_region(function.body(), {});
}

}  // namespace ullage::syntax
