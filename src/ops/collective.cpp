// Communication between devices, and Shardy's sharding operations.
#include <fmt/format.h>

#include <set>

#include "ops/rules.h"

namespace ullage::ops {

namespace {

const CollectiveAttributes& attributes_of(const OpView& view) {
  return std::get<CollectiveAttributes>(view.attributes);
}

// Group members are distinct; -1 pads short groups.
Status check_groups(const OpView& view, int unique_rule, int range_rule) {
  const CollectiveAttributes& a = attributes_of(view);
  std::set<int64_t> seen;
  for (int64_t id : a.replica_groups) {
    if (id < -1) return violation(view, range_rule, fmt::format("replica group member {}", id));
    if (id >= 0 && !seen.insert(id).second)
      return violation(view, unique_rule, fmt::format("device {} is in replica_groups twice", id));
  }
  return Ok{};
}

Status check_pairs(const OpView& view) {
  const Dims& pairs = attributes_of(view).pairs;
  if (pairs.size() % 2 != 0) return violation(view, 1, "source_target_pairs must be pairs");
  std::set<int64_t> sources, targets;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (!sources.insert(pairs[i]).second)
      return violation(view, 2, fmt::format("source {} repeats", pairs[i]));
    if (!targets.insert(pairs[i + 1]).second)
      return violation(view, 3, fmt::format("target {} repeats", pairs[i + 1]));
    if (pairs[i] < 0 || pairs[i + 1] < 0) return violation(view, 4, "devices must not be negative");
  }
  return Ok{};
}

Status check_dim(const OpView& view, int64_t dim, int rule) {
  for (const Type& operand : view.operands)
    if (!operand.is_tensor() || dim < 0 || dim >= operand.rank())
      return violation(view, rule, fmt::format("dimension {} of {}", dim, to_string(operand)));
  return Ok{};
}

int64_t scaled(int64_t extent, int64_t factor) {
  return extent == kDynamic || factor == 0 ? kDynamic : extent * factor;
}

// Across replicas and partitions, a group has as many times more members than replica_groups names
// as there are partitions: how many, the operation does not say.
bool groups_span_partitions(const CollectiveAttributes& a) {
  return a.channel_id > 0 && !a.use_global_device_ids;
}

Result<Types> infer_all_gather(const OpView& view) {
  const CollectiveAttributes& a = attributes_of(view);
  if (auto s = check_dim(view, a.dim, 1); !s) return s.diagnostics();
  if (auto s = check_groups(view, 2, 4); !s) return s.diagnostics();
  Types out;
  for (const Type& operand : view.operands) {
    Type result = with_shape(operand, operand.shape);
    auto d = static_cast<size_t>(a.dim);
    result.shape[d] = scaled(operand.shape[d], a.group_size);
    if (groups_span_partitions(a)) result.shape[d] = kDynamic;
    out.push_back(result);
  }
  return out;
}

Result<Types> infer_all_reduce(const OpView& view) {
  if (auto s = check_groups(view, 1, 3); !s) return s.diagnostics();
  return Types(view.operands.begin(), view.operands.end());
}

Result<Types> infer_reduce_scatter(const OpView& view) {
  const CollectiveAttributes& a = attributes_of(view);
  if (auto s = check_dim(view, a.dim, 2); !s) return s.diagnostics();
  if (auto s = check_groups(view, 3, 5); !s) return s.diagnostics();
  Type result = with_shape(view.operands[0], view.operands[0].shape);
  int64_t& extent = result.shape[static_cast<size_t>(a.dim)];
  if (extent != kDynamic && a.group_size > 0 && !groups_span_partitions(a)) {
    if (extent % a.group_size != 0)
      return violation(view, 1,
                       fmt::format("dimension {} of {} does not divide by {} devices", a.dim,
                                   to_string(result), a.group_size));
    extent /= a.group_size;
  } else {
    extent = kDynamic;
  }
  return Types{result};
}

Result<Types> infer_all_to_all(const OpView& view) {
  const CollectiveAttributes& a = attributes_of(view);
  if (auto s = check_dim(view, a.dim, 1); !s) return s.diagnostics();
  if (auto s = check_dim(view, a.concat_dim, 3); !s) return s.diagnostics();
  if (a.split_count <= 0)
    return violation(view, 4, fmt::format("split_count is {}", a.split_count));
  if (auto s = check_groups(view, 5, 7); !s) return s.diagnostics();
  if (a.group_size != 0 && a.group_size != a.split_count)
    return violation(
        view, 8,
        fmt::format("groups of {} devices for split_count {}", a.group_size, a.split_count));
  Types out;
  for (const Type& operand : view.operands) {
    Type result = with_shape(operand, operand.shape);
    auto split = static_cast<size_t>(a.dim), join = static_cast<size_t>(a.concat_dim);
    if (operand.shape[split] != kDynamic && operand.shape[split] % a.split_count != 0)
      return violation(view, 2,
                       fmt::format("dimension {} of {} does not divide by {}", a.dim,
                                   to_string(operand), a.split_count));
    if (split != join) {
      if (operand.shape[split] != kDynamic) result.shape[split] /= a.split_count;
      result.shape[join] = scaled(operand.shape[join], a.split_count);
    }
    out.push_back(result);
  }
  return out;
}

Result<Types> infer_same(const OpView& view) {
  if (auto s = check_groups(view, 1, 2); !s) return s.diagnostics();
  return Types{view.operands[0]};
}

Result<Types> infer_permute(const OpView& view) {
  if (auto s = check_pairs(view); !s) return s.diagnostics();
  return Types{view.operands[0]};
}

Result<Types> infer_id(const OpView&) {
  return Types{Type::tensor(DType::ui32, {})};
}

Result<Types> infer_token(const OpView& view) {
  if (auto s = check_pairs(view); !s) return s.diagnostics();
  if (view.operands.empty() || view.operands.back().kind != Type::Kind::token)
    return violation(view, 0, "the last operand must be a token");
  return Types{Type::token()};
}

// infeed, recv: what arrives is declared, a token last.
Result<Types> infer_received(const OpView& view) {
  if (auto s = check_pairs(view); !s) return s.diagnostics();
  if (view.operands[0].kind != Type::Kind::token) return violation(view, 0, "takes a token");
  if (view.declared.empty()) return violation(view, 1, "needs at least one result");
  if (view.declared.back().kind != Type::Kind::token)
    return violation(view, 3, "the last result must be a token");
  return Types(view.declared.begin(), view.declared.end());
}

Result<Types> infer_declared(const OpView& view) {
  return Types(view.declared.begin(), view.declared.end());
}
Result<Types> infer_operand(const OpView& view) {
  return Types{view.operands[0]};
}
Result<Types> infer_nothing(const OpView&) {
  return Types{};
}

}  // namespace

void add_collective_rules(RuleTable& table) {
  constexpr size_t kCollective = attribute_index<CollectiveAttributes>();
  constexpr size_t kSharding = attribute_index<ShardingAttributes>();
  row(table, OpKind::all_gather) = {infer_all_gather, kCollective, 0, "(C6)"};
  row(table, OpKind::all_reduce) = {infer_all_reduce, kCollective, 1, "(C6)"};
  row(table, OpKind::reduce_scatter) = {infer_reduce_scatter, kCollective, 1, "(C8)"};
  row(table, OpKind::all_to_all) = {infer_all_to_all, kCollective, 0, "(C9)"};
  row(table, OpKind::collective_broadcast) = {infer_same, kCollective, 0, "(C3)"};
  row(table, OpKind::cross_replica_sum) = {infer_same, kCollective, 0, ""};
  row(table, OpKind::collective_permute) = {infer_permute, kCollective, 0, "(C5)"};
  row(table, OpKind::partition_id) = {infer_id, 0, 0, ""};
  row(table, OpKind::replica_id) = {infer_id, 0, 0, ""};
  row(table, OpKind::send) = {infer_token, kCollective, 0, ""};
  row(table, OpKind::outfeed) = {infer_token, kCollective, 0, ""};
  row(table, OpKind::recv) = {infer_received, kCollective, 0, ""};
  row(table, OpKind::infeed) = {infer_received, kCollective, 0, "(C3)"};
  row(table, OpKind::sdy_manual_computation) = {infer_declared, kSharding, 1, ""};
  row(table, OpKind::sdy_return) = {infer_nothing, 0, 0, ""};
  row(table, OpKind::sdy_sharding_constraint) = {infer_operand, kSharding, 0, ""};
}

}  // namespace ullage::ops
