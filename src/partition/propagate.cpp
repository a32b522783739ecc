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

// What a program states, with its open dimensions as they follow from elsewhere.
Sharding filled_in(Sharding stated, const Sharding* found) {
  if (!found || !found->mesh || found->dims.size() != stated.dims.size()) return stated;
  if (stated.mesh && !stated.mesh->axes.empty() && stated.mesh != found->mesh) return stated;
  auto used = [&](const MeshAxis& axis) {
    for (const auto& dim : stated.dims)
      for (const MeshAxis& other : dim)
        if (other.axis == axis.axis) return true;
    for (const MeshAxis& other : stated.unreduced)
      if (other.axis == axis.axis) return true;
    return false;
  };
  Sharding out = stated;
  out.mesh = found->mesh;
  for (size_t d = 0; d < stated.dims.size(); ++d) {
    if (d >= stated.open.size() || !stated.open[d] || !stated.dims[d].empty()) continue;
    if (std::none_of(found->dims[d].begin(), found->dims[d].end(), used))
      out.dims[d] = found->dims[d];
  }
  return out;
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
        set(op.result(), filled_in(std::move(*sharding), find(op.operand(0))));
        return Ok{};
      }
      case OpKind::sdy_manual_computation: {
        Result<std::vector<Sharding>> out =
            parse_shardings(op.as<ShardingAttributes>().out_shardings, meshes_);
        if (!out) return out.diagnostics();
        return manual(op, depth, std::move(*out));
      }
      case OpKind::call:
        return call(op, depth);
      case OpKind::while_:
        return loop(op, depth);
      case OpKind::optimization_barrier:
        for (size_t i = 0; i < op.num_results(); ++i)
          if (const Sharding* from = find(op.operand(i))) set(op.result(i), *from);
        return Ok{};
      case OpKind::case_:
      case OpKind::if_:
        return branches(op, depth);
      case OpKind::transpose:
        if (const Sharding* from = find(op.operand(0))) {
          Sharding to{from->mesh, {}, {}, {}};
          for (int64_t d : op.as<DimsAttributes>().dims)
            to.dims.push_back(from->dims[static_cast<size_t>(d)]);
          set(op.result(), std::move(to));
        }
        return Ok{};
      case OpKind::broadcast_in_dim:
        if (const Sharding* from = find(op.operand(0))) {
          Sharding to{from->mesh, {}, {}, {}};
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
            Sharding to{from->mesh, {}, {}, {}};
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
      case OpKind::reshape:
        reshape(op);
        return Ok{};
      case OpKind::gather:
        gather(op);
        return Ok{};
      case OpKind::slice:
      case OpKind::dynamic_slice:
      case OpKind::dynamic_update_slice:
      case OpKind::pad:
      case OpKind::concatenate:
      case OpKind::reverse:
      case OpKind::sort:
      case OpKind::scatter:
      case OpKind::cholesky:
      case OpKind::reduce_window:
        whole_dims(op, 0);
        return Ok{};
      case OpKind::triangular_solve:
        whole_dims(op, 1);
        return Ok{};
      case OpKind::custom_call:
        if (op.num_operands() == 1 && op.num_results() == 1) whole_dims(op, 0);
        return Ok{};
      default:
        if (has_trait(op.kind, kElementwise)) elementwise(op);
        return Ok{};
    }
  }

  // What is left to follow from the arguments, follows through the body.
  Status manual(const Op& op, int depth, std::vector<Sharding> out) {
    const Region& body = op.nested();
    Result<std::vector<Sharding>> in =
        parse_shardings(op.as<ShardingAttributes>().in_shardings, meshes_);
    if (!in) return in.diagnostics();
    for (size_t i = 0; i < in->size() && i < op.num_operands(); ++i)
      set(body.argument(i), filled_in(std::move((*in)[i]), find(op.operand(i))));
    if (Status status = run(body, depth); !status) return status;
    for (size_t i = 0; i < op.num_results() && i < out.size(); ++i)
      set(op.result(i), filled_in(std::move(out[i]), find(body.terminator()->operand(i))));
    return Ok{};
  }

  // Results of the same rank as an operand: dimensions that keep their extent stay cut.
  void whole_dims(const Op& op, size_t first) {
    for (size_t i = 0; i < op.num_results(); ++i) {
      size_t o = op.num_results() > 1 ? i : first;
      if (o >= op.num_operands()) return;
      const Sharding* from = find(op.operand(o));
      const std::vector<int64_t>& old_shape = op.operand(o)->type.shape;
      const std::vector<int64_t>& shape = op.result(i)->type.shape;
      if (!from || old_shape.size() != shape.size()) continue;
      Sharding to{from->mesh, from->dims, {}, {}};
      for (size_t d = 0; d < shape.size(); ++d)
        if (shape[d] != old_shape[d]) to.dims[d].clear();
      set(op.result(i), std::move(to));
    }
  }

  // Dimensions with the same extent, and the same number of elements before them, stay cut.
  void reshape(const Op& op) {
    const Sharding* from = find(op.operand(0));
    if (!from) return;
    const std::vector<int64_t>& old_shape = op.operand(0)->type.shape;
    const std::vector<int64_t>& shape = op.result()->type.shape;
    Sharding to{from->mesh, std::vector<std::vector<MeshAxis>>(shape.size()), {}, {}};
    int64_t before = 1, old_before = 1;
    for (size_t d = 0, old = 0; d < shape.size() && old < old_shape.size();) {
      if (before == old_before && shape[d] == old_shape[old]) {
        to.dims[d] = from->dims[old];
        before *= shape[d++];
        old_before *= old_shape[old++];
      } else if (before * shape[d] <= old_before * old_shape[old]) {
        before *= shape[d++];
      } else {
        old_before *= old_shape[old++];
      }
    }
    set(op.result(), std::move(to));
  }

  // Dimensions that every slice has whole stay cut.
  void gather(const Op& op) {
    const Sharding* from = find(op.operand(0));
    if (!from) return;
    const auto& attributes = op.as<GatherAttributes>();
    const std::vector<int64_t>& shape = op.operand(0)->type.shape;
    auto contains = [](const Dims& dims, size_t d) {
      return std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
    };
    Sharding to{from->mesh, {}, {}, {}};
    to.dims.resize(op.result()->type.shape.size());
    size_t next = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (contains(attributes.collapsed_slice_dims, d) ||
          contains(attributes.operand_batching_dims, d))
        continue;
      size_t at = static_cast<size_t>(attributes.offset_dims[next++]);
      if (attributes.slice_sizes[d] == shape[d]) to.dims[at] = from->dims[d];
    }
    set(op.result(), std::move(to));
  }

  // What a loop carries is as its body leaves it.
  Status loop(const Op& op, int depth) {
    const Region& body = op.nested(1);
    for (size_t i = 0; i < op.num_results(); ++i)
      if (const Sharding* from = find(op.operand(i))) set(body.argument(i), Sharding(*from));
    if (Status status = run(body, depth); !status) return status;
    for (size_t i = 0; i < op.num_results(); ++i) {
      const Sharding* from = find(body.terminator()->operand(i));
      if (!from) from = find(op.operand(i));
      if (from) set(op.result(i), Sharding(*from));
    }
    return Ok{};
  }

  // Of a conditional, what the branches agree on; the first that is known stands for all.
  Status branches(const Op& op, int depth) {
    for (size_t r = 0; r < op.num_regions(); ++r) {
      if (Status status = run(op.nested(r), depth); !status) return status;
      const Op* end = op.nested(r).terminator();
      for (size_t i = 0; i < op.num_results() && i < end->num_operands(); ++i)
        if (const Sharding* from = find(end->operand(i)); from && !find(op.result(i)))
          set(op.result(i), Sharding(*from));
    }
    return Ok{};
  }

  void elementwise(const Op& op) {
    const Sharding* best = nullptr;
    for (Value* operand : op.operands()) {
      const Sharding* one = find(operand);
      if (!one || operand->type.shape != op.result()->type.shape) continue;
      if (!best || (best->replicated() && !one->replicated())) best = one;
    }
    if (best) set(op.result(), Sharding{best->mesh, best->dims, {}, {}});
  }

  void product(const Op& op) {
    const auto& attributes = op.as<DotAttributes>();
    const Sharding *left = find(op.operand(0)), *right = find(op.operand(1));
    const Sharding* any = left ? left : right;
    if (!any || (left && right && left->mesh != right->mesh)) return;
    Sharding to{any->mesh, {}, {}, {}};
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
    const Sharding* found = propagation.find(entry.body().terminator()->operand(r));
    std::string_view text;
    if (r < entry.result_extra.size()) text = text_in(entry.result_extra[r]);
    if (!text.empty()) {
      Result<Sharding> sharding = parse_sharding(text, meshes);
      if (!sharding) return sharding.diagnostics();
      out.push_back(filled_in(std::move(*sharding), found));
      continue;
    }
    out.push_back(found ? *found : Sharding{});
    out.back().dims.resize(entry.result_types[r].shape.size());
  }
  return out;
}

}  // namespace ullage
