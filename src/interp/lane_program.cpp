#include "interp/lane_program.h"

#include <fmt/format.h>

namespace ullage::interp {

LaneProgram::Register LaneProgram::add_register(DType dtype) {
  registers_.emplace_back();
  return {registers_.size() - 1, dtype};
}

LaneProgram::Register LaneProgram::add_constant(const Tensor& scalar) {
  Register reg = add_register(scalar.dtype());
  load_strided(scalar.dtype(), scalar.data(), 0, kLanes, registers_[reg.index]);
  return reg;
}

Result<LaneProgram> LaneProgram::compile(Evaluation& e, const Region& region) {
  LaneProgram program;
  Map map;
  for (const Value* argument : region.arguments()) {
    if (!argument->type.is_tensor() || argument->type.rank() != 0)
      return e.problem("its body takes " + to_string(argument->type) +
                       "; the interpreter needs scalars");
    Register reg = program.add_register(argument->type.dtype);
    program.arguments_.push_back(reg);
    map[argument] = reg;
  }
  auto results = program.compile_region(e, region, map, 0);
  if (!results) return results.diagnostics();
  program.results_ = *results;
  return program;
}

Result<std::vector<LaneProgram::Register>> LaneProgram::compile_region(Evaluation& e,
                                                                       const Region& region,
                                                                       Map& map, int depth) {
  if (depth > 64) return e.problem("functions in its body call each other too deeply");
  for (const Op* op : region) {
    std::vector<Register> in;
    for (const Value* operand : op->operands()) {
      auto found = map.find(operand);
      if (found == map.end()) {
        const Tensor* outer = e.outer ? e.outer(operand) : nullptr;
        if (!outer || outer->rank() != 0)
          return e.problem("its body uses a value from outside that is not a scalar");
        found = map.emplace(operand, add_constant(*outer)).first;
      }
      in.push_back(found->second);
    }
    if (has_trait(op->kind, kTerminator)) return in;
    if (op->kind == OpKind::constant) {
      Tensor value = Tensor::from(op->as<ConstantAttributes>().value);
      if (value.rank() != 0) return e.problem("its body holds a constant that is not a scalar");
      map[op->result()] = add_constant(value);
      continue;
    }
    if (op->kind == OpKind::call) {
      const Function* callee = e.module ? e.module->find(op->as<CallAttributes>().callee) : nullptr;
      if (!callee)
        return e.problem("its body calls @" + op->as<CallAttributes>().callee +
                         ", which is not at hand");
      Map inner;
      for (size_t i = 0; i < in.size(); ++i) inner[callee->body().argument(i)] = in[i];
      auto results = compile_region(e, callee->body(), inner, depth + 1);
      if (!results) return results;
      for (size_t i = 0; i < results->size(); ++i) map[op->result(i)] = (*results)[i];
      continue;
    }
    bool scalar = true;
    for (const Value* result : op->results())
      scalar = scalar && result->type.is_tensor() && result->type.rank() == 0;
    bool copies = op->kind == OpKind::reshape || op->kind == OpKind::broadcast_in_dim ||
                  op->kind == OpKind::optimization_barrier;
    if (scalar && copies) {
      for (size_t i = 0; i < op->num_results(); ++i) map[op->result(i)] = in[i];
      continue;
    }
    if (!scalar || !is_lane_op(op->kind) || in.size() > 3)
      return e.problem(
          fmt::format("its body contains {}; the interpreter takes elementwise operations there",
                      op->mnemonic()));
    std::vector<DType> types;
    for (const Register& reg : in) types.push_back(reg.dtype);
    auto lane = lane_op(op->kind, types, op->result()->type.dtype, op->attributes);
    if (!lane) return lane.diagnostics();
    Register out = add_register(op->result()->type.dtype);
    Instruction instruction{*lane, {}, out.index};
    for (size_t i = 0; i < in.size(); ++i) instruction.in[i] = in[i].index;
    code_.push_back(instruction);
    map[op->result()] = out;
  }
  return e.problem("its body has no terminator");
}

void LaneProgram::run(size_t n) {
  for (const Instruction& instruction : code_) {
    const Lanes* in[3] = {&registers_[instruction.in[0]], &registers_[instruction.in[1]],
                          &registers_[instruction.in[2]]};
    instruction.op.apply(in, registers_[instruction.out], n);
  }
}

}  // namespace ullage::interp
