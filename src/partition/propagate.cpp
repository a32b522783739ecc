#include "partition/propagate.h"

#include <algorithm>
#include <unordered_map>

namespace ullage {

namespace {

constexpr std::string_view kAttribute = "sdy.sharding";
constexpr int kMaxCalls = 32;

std::string_view text_in(const NamedAttributes& attributes) {
  for (const NamedAttribute& attribute : attributes)
    if (attribute.name == kAttribute) return attribute.text;
  return {};
}

class Propagation {
 public:
  Propagation(const Module& module, std::span<const Mesh> meshes)
      : module_(module), meshes_(meshes) {}

  Status run(const Region& region, int depth) {
    for (Op* op : region) {
      if (has_trait(op->kind, kTerminator)) break;
      if (Status status = visit(*op, depth); !status) return status;
    }
    return Ok{};
  }

  const Sharding* find(Value* value) const {
    auto it = known_.find(value);
    return it == known_.end() ? nullptr : &it->second;
  }
  void set(Value* value, Sharding sharding) {
    // Only what divides the array evenly, over a mesh that has devices.
    if (!sharding.mesh || sharding.dims.size() != value->type.shape.size()) return;
    for (size_t d = 0; d < sharding.dims.size(); ++d)
      if (value->type.shape[d] % sharding.parts(d) != 0) return;
    known_[value] = std::move(sharding);
  }

 private:
  Status visit(const Op& op, int depth) {
    switch (op.kind) {
      case OpKind::sdy_sharding_constraint: {
        Result<Sharding> sharding = parse_sharding(op.as<ShardingAttributes>().sharding, meshes_);
        if (!sharding) return sharding.diagnostics();
        set(op.result(), std::move(*sharding));
        return Ok{};
      }
      case OpKind::sdy_manual_computation: {
        Result<std::vector<Sharding>> out =
            parse_shardings(op.as<ShardingAttributes>().out_shardings, meshes_);
        if (!out) return out.diagnostics();
        for (size_t i = 0; i < op.num_results() && i < out->size(); ++i)
          set(op.result(i), (*out)[i]);
        return Ok{};
      }
      case OpKind::call:
        return call(op, depth);
      case OpKind::while_:
      case OpKind::optimization_barrier:
        for (size_t i = 0; i < op.num_results(); ++i)
          if (const Sharding* from = find(op.operand(i))) set(op.result(i), *from);
        return Ok{};
      case OpKind::transpose:
        if (const Sharding* from = find(op.operand(0))) {
          Sharding to{from->mesh, {}, {}};
          for (int64_t d : op.as<DimsAttributes>().dims)
            to.dims.push_back(from->dims[static_cast<size_t>(d)]);
          set(op.result(), std::move(to));
        }
        return Ok{};
      case OpKind::broadcast_in_dim:
        if (const Sharding* from = find(op.operand(0))) {
          Sharding to{from->mesh, {}, {}};
          to.dims.resize(op.result()->type.shape.size());
          const Dims& dims = op.as<DimsAttributes>().dims;
          for (size_t d = 0; d < dims.size(); ++d)
            to.dims[static_cast<size_t>(dims[d])] = from->dims[d];
          set(op.result(), std::move(to));
        }
        return Ok{};
      case OpKind::reduce:
        for (size_t i = 0; i < op.num_results(); ++i)
          if (const Sharding* from = find(op.operand(i))) {
            Sharding to{from->mesh, {}, {}};
            const Dims& reduced = op.as<DimsAttributes>().dims;
            for (size_t d = 0; d < from->dims.size(); ++d)
              if (std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(d)) ==
                  reduced.end())
                to.dims.push_back(from->dims[d]);
            set(op.result(i), std::move(to));
          }
        return Ok{};
      case OpKind::dot_general:
        product(op);
        return Ok{};
      default:
        if (has_trait(op.kind, kElementwise)) elementwise(op);
        return Ok{};
    }
  }

  void elementwise(const Op& op) {
    const Sharding* best = nullptr;
    for (Value* operand : op.operands()) {
      const Sharding* one = find(operand);
      if (!one || operand->type.shape != op.result()->type.shape) continue;
      if (!best || (best->replicated() && !one->replicated())) best = one;
    }
    if (best) set(op.result(), Sharding(*best));
  }

  void product(const Op& op) {
    const auto& attributes = op.as<DotAttributes>();
    const Sharding *left = find(op.operand(0)), *right = find(op.operand(1));
    const Sharding* any = left ? left : right;
    if (!any || (left && right && left->mesh != right->mesh)) return;
    Sharding to{any->mesh, {}, {}};
    std::vector<size_t> used;
    auto add = [&](const Sharding* from, size_t dim) {
      std::vector<MeshAxis> axes;
      if (from)
        for (const MeshAxis& axis : from->dims[dim])
          if (std::find(used.begin(), used.end(), axis.axis) == used.end()) {
            axes.push_back(axis);
            used.push_back(axis.axis);
          }
      to.dims.push_back(std::move(axes));
    };
    auto contains = [](const Dims& dims, size_t d) {
      return std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
    };
    for (size_t i = 0; i < attributes.lhs_batching.size(); ++i) {
      const Sharding* from = left ? left : right;
      add(from,
          static_cast<size_t>(left ? attributes.lhs_batching[i] : attributes.rhs_batching[i]));
    }
    for (size_t d = 0; d < op.operand(0)->type.shape.size(); ++d)
      if (!contains(attributes.lhs_batching, d) && !contains(attributes.lhs_contracting, d))
        add(left, d);
    for (size_t d = 0; d < op.operand(1)->type.shape.size(); ++d)
      if (!contains(attributes.rhs_batching, d) && !contains(attributes.rhs_contracting, d))
        add(right, d);
    set(op.result(), std::move(to));
  }

  // The callee's values are those of its last call; only its results matter here.
  Status call(const Op& op, int depth) {
    const Function* callee = module_.find(op.as<CallAttributes>().callee);
    if (!callee || depth >= kMaxCalls) return Ok{};
    const Region& body = callee->body();
    for (size_t i = 0; i < body.arguments().size(); ++i) {
      known_.erase(body.argument(i));
      if (const Sharding* from = find(op.operand(i))) set(body.argument(i), Sharding(*from));
    }
    for (Op* inner : body)
      for (Value* result : inner->results()) known_.erase(result);
    if (Status status = run(body, depth + 1); !status) return status;
    for (size_t i = 0; i < op.num_results(); ++i)
      if (const Sharding* from = find(body.terminator()->operand(i)))
        set(op.result(i), Sharding(*from));
    return Ok{};
  }

  const Module& module_;
  std::span<const Mesh> meshes_;
  std::unordered_map<Value*, Sharding> known_;
};

}  // namespace

Result<std::vector<std::optional<Sharding>>> argument_shardings(const Module& module,
                                                                std::span<const Mesh> meshes) {
  std::vector<std::optional<Sharding>> out;
  for (const ArgumentInfo& info : module.entry()->argument_info) {
    std::string_view text = text_in(info.extra);
    out.emplace_back();
    if (text.empty()) continue;
    Result<Sharding> sharding = parse_sharding(text, meshes);
    if (!sharding) return sharding.diagnostics();
    out.back() = std::move(*sharding);
  }
  return out;
}

Result<std::vector<Sharding>> result_shardings(const Module& module, std::span<const Mesh> meshes) {
  const Function& entry = *module.entry();
  Propagation propagation(module, meshes);
  auto arguments = argument_shardings(module, meshes);
  if (!arguments) return arguments.diagnostics();
  for (size_t a = 0; a < arguments->size(); ++a)
    if ((*arguments)[a]) propagation.set(entry.body().argument(a), *(*arguments)[a]);
  if (Status status = propagation.run(entry.body(), 0); !status) return status.diagnostics();
  std::vector<Sharding> out;
  for (size_t r = 0; r < entry.result_types.size(); ++r) {
    std::string_view text;
    if (r < entry.result_extra.size()) text = text_in(entry.result_extra[r]);
    if (!text.empty()) {
      Result<Sharding> sharding = parse_sharding(text, meshes);
      if (!sharding) return sharding.diagnostics();
      out.push_back(std::move(*sharding));
      continue;
    }
    const Sharding* found = propagation.find(entry.body().terminator()->operand(r));
    out.push_back(found ? *found : Sharding{});
    out.back().dims.resize(entry.result_types[r].shape.size());
  }
  return out;
}

}  // namespace ullage
