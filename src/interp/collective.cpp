// Communication between the processes of a run. Groups of processes are those of the specification
// (section "Collective operations"): rows of replica_groups number replicas, partitions or, with
// use_global_device_ids, the processes themselves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "interp/eval.h"
#include "interp/index_space.h"
#include "interp/lane_program.h"
#include "interp/parallel.h"

namespace ullage::interp {

namespace {

enum class Grouping : uint8_t {
  cross_replica,
  cross_partition,
  cross_replica_and_partition,
  flattened_ids
};

using Group = std::vector<int64_t>;  // numbers of processes

Group row_of(const CollectiveAttributes& a, int64_t row) {
  Group out;
  for (int64_t i = 0; i < a.group_size; ++i)
    if (int64_t id = a.replica_groups[static_cast<size_t>(row * a.group_size + i)]; id >= 0)
      out.push_back(id);
  return out;
}

// The groups of the whole grid. Without rows, one that holds everything.
std::vector<Group> process_groups(const CollectiveAttributes& a, const Process& p,
                                  Grouping grouping) {
  std::vector<Group> rows, out;
  for (int64_t row = 0; row < a.group_count; ++row) rows.push_back(row_of(a, row));
  if (a.replica_groups.empty()) {
    int64_t count = grouping == Grouping::cross_partition ? p.num_partitions
                    : grouping == Grouping::flattened_ids ? p.num_replicas * p.num_partitions
                                                          : p.num_replicas;
    rows.assign(1, Group());
    for (int64_t id = 0; id < count; ++id) rows[0].push_back(id);
  }
  auto number = [&](int64_t replica, int64_t partition) {
    return replica * p.num_partitions + partition;
  };
  for (const Group& row : rows) {
    switch (grouping) {
      case Grouping::cross_replica:
        for (int64_t partition = 0; partition < p.num_partitions; ++partition) {
          Group& group = out.emplace_back();
          for (int64_t id : row) group.push_back(number(id, partition));
        }
        break;
      case Grouping::cross_partition:
        for (int64_t replica = 0; replica < p.num_replicas; ++replica) {
          Group& group = out.emplace_back();
          for (int64_t id : row) group.push_back(number(replica, id));
        }
        break;
      case Grouping::cross_replica_and_partition: {
        Group& group = out.emplace_back();
        for (int64_t partition = 0; partition < p.num_partitions; ++partition)
          for (int64_t id : row) group.push_back(number(id, partition));
        break;
      }
      case Grouping::flattened_ids:
        out.push_back(row);
        break;
    }
  }
  return out;
}

Grouping reducing(const CollectiveAttributes& a) {
  if (a.channel_id <= 0) return Grouping::cross_replica;
  return a.use_global_device_ids ? Grouping::flattened_ids : Grouping::cross_replica_and_partition;
}
Grouping moving(const CollectiveAttributes& a) {
  return a.channel_id <= 0 ? Grouping::cross_replica : Grouping::cross_partition;
}

// What the members of this process's group bring, and its own place among them.
struct Together {
  std::vector<Tensors> brought;
  size_t place = 0;
};

Result<Together> meet(Evaluation& e, const Group& group) {
  Process& p = *e.process;
  auto own = std::find(group.begin(), group.end(), p.number());
  const auto place = static_cast<size_t>(own - group.begin());
  const int64_t processes = p.num_replicas * p.num_partitions;
  for (int64_t id : group)
    if (id >= processes)
      return e.problem(fmt::format("process {} of the group {} is not in this run, which has {}",
                                   id, group, processes));
  if (group.size() == 1) return Together{{e.operands}, 0};
  std::string name =
      fmt::format("{} {} {}", e.op.mnemonic(), e.op.as<CollectiveAttributes>().channel_id, group);
  name += fmt::format(" {}", p.times[name]++);
  Meeting::Brought all = p.meeting->meet(name, group.size(), place, e.operands);
  if (!all) {
    p.stuck = true;
    return e.problem(fmt::format("not every process of the group {} comes to it", group));
  }
  for (const Tensors& other : *all)
    for (size_t i = 0; i < e.operands.size(); ++i)
      if (other.size() != e.operands.size() || !(other[i].type() == e.operands[i].type()))
        return e.problem(fmt::format("processes of the group {} bring different types", group));
  return Together{*all, place};
}

Result<Together> meet_in_groups(Evaluation& e, Grouping grouping) {
  if (!e.process) return e.problem("there are no processes to communicate between");
  for (const Group& group : process_groups(e.op.as<CollectiveAttributes>(), *e.process, grouping))
    if (std::find(group.begin(), group.end(), e.process->number()) != group.end())
      return meet(e, group);
  return e.problem(fmt::format("replica {}, partition {} is in none of the groups",
                               e.process->replica, e.process->partition));
}

// Copies a box of `shape` between places along one dimension.
void copy_along(int64_t dim, const Tensor& from, int64_t from_place, Tensor& to, int64_t to_place,
                const std::vector<int64_t>& shape) {
  auto d = static_cast<size_t>(dim);
  Index from_strides = row_major_strides(from.shape()), to_strides = row_major_strides(to.shape());
  auto width = static_cast<size_t>(storage_bytes(from.dtype()));
  if (element_count(shape) == 0) return;
  copy_box(width, shape, from.data() + static_cast<size_t>(from_place * from_strides[d]) * width,
           from_strides, to.mutable_data() + static_cast<size_t>(to_place * to_strides[d]) * width,
           to_strides);
}

Result<Tensors> evaluate_all_gather(Evaluation& e) {
  const auto& a = e.op.as<CollectiveAttributes>();
  auto together = meet_in_groups(e, reducing(a));
  if (!together) return together.diagnostics();
  Tensors out;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    const std::vector<int64_t>& shape = e.operands[i].shape();
    int64_t extent = shape[static_cast<size_t>(a.dim)];
    Tensor joined(e.types[i]);
    if (joined.shape()[static_cast<size_t>(a.dim)] !=
        extent * static_cast<int64_t>(together->brought.size()))
      return e.problem(fmt::format("{} processes bring {} for a result of {}",
                                   together->brought.size(), to_string(e.operands[i].type()),
                                   to_string(e.types[i])));
    for (size_t k = 0; k < together->brought.size(); ++k)
      copy_along(a.dim, together->brought[k][i], 0, joined, static_cast<int64_t>(k) * extent,
                 shape);
    out.push_back(std::move(joined));
  }
  return out;
}

// What all bring, combined by the operation's region in the order of the group.
Result<Tensor> reduce_all(Evaluation& e, const Together& together, size_t i) {
  auto program = LaneProgram::compile(e, e.op.nested());
  if (!program) return program.diagnostics();
  const Type& type = e.operands[i].type();
  const int64_t width = storage_bytes(type.dtype);
  if (program->num_arguments() != 2 || program->argument_type(0) != type.dtype ||
      program->argument_type(1) != type.dtype || program->result_type(0) != type.dtype)
    return e.problem("its body must combine elements of type " + std::string(name(type.dtype)));
  Tensor out = copy_of(together.brought[0][i]);
  std::byte* to = out.mutable_data();
  for (size_t k = 1; k < together.brought.size(); ++k)
    for (int64_t at = 0; at < out.num_elements(); at += static_cast<int64_t>(kLanes)) {
      auto n = static_cast<size_t>(
          std::min<int64_t>(out.num_elements() - at, static_cast<int64_t>(kLanes)));
      load(type.dtype, to + at * width, n, program->argument(0));
      load(type.dtype, together.brought[k][i].data() + at * width, n, program->argument(1));
      program->run(n);
      store(type.dtype, program->result(0), n, to + at * width);
    }
  return out;
}

Result<Tensors> evaluate_all_reduce(Evaluation& e) {
  auto together = meet_in_groups(e, reducing(e.op.as<CollectiveAttributes>()));
  if (!together) return together.diagnostics();
  Tensors out;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    auto reduced = reduce_all(e, *together, i);
    if (!reduced) return reduced.diagnostics();
    out.push_back(std::move(*reduced));
  }
  return out;
}

Result<Tensors> evaluate_cross_replica_sum(Evaluation& e) {
  auto together = meet_in_groups(e, Grouping::cross_replica);
  if (!together) return together.diagnostics();
  Tensor sum = copy_of(together->brought[0][0]);
  for (size_t k = 1; k < together->brought.size(); ++k) {
    auto next = apply(e, OpKind::add, {&sum, &together->brought[k][0]}, sum.type());
    if (!next) return next.diagnostics();
    sum = std::move(*next);
  }
  return Tensors{std::move(sum)};
}

Result<Tensors> evaluate_reduce_scatter(Evaluation& e) {
  const auto& a = e.op.as<CollectiveAttributes>();
  auto together = meet_in_groups(e, reducing(a));
  if (!together) return together.diagnostics();
  auto reduced = reduce_all(e, *together, 0);
  if (!reduced) return reduced.diagnostics();
  Tensor part(e.types[0]);
  int64_t extent = part.shape()[static_cast<size_t>(a.dim)];
  if (extent * static_cast<int64_t>(together->brought.size()) !=
      reduced->shape()[static_cast<size_t>(a.dim)])
    return e.problem(fmt::format("{} does not divide among {} processes as {}",
                                 to_string(reduced->type()), together->brought.size(),
                                 to_string(part.type())));
  copy_along(a.dim, *reduced, static_cast<int64_t>(together->place) * extent, part, 0,
             part.shape());
  return Tensors{std::move(part)};
}

Result<Tensors> evaluate_all_to_all(Evaluation& e) {
  const auto& a = e.op.as<CollectiveAttributes>();
  auto together = meet_in_groups(e, moving(a));
  if (!together) return together.diagnostics();
  const auto members = static_cast<int64_t>(together->brought.size());
  if (members != a.split_count)
    return e.problem(fmt::format("{} processes for split_count {}", members, a.split_count));
  Tensors out;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    // Each part is cut out along one dimension, and laid down along another.
    Type part = e.operands[i].type();
    part.shape[static_cast<size_t>(a.dim)] /= members;
    Tensor joined(e.types[i]);
    for (int64_t k = 0; k < members; ++k) {
      Tensor cut(part);
      copy_along(a.dim, together->brought[static_cast<size_t>(k)][i],
                 static_cast<int64_t>(together->place) * part.shape[static_cast<size_t>(a.dim)],
                 cut, 0, part.shape);
      copy_along(a.concat_dim, cut, 0, joined, k * part.shape[static_cast<size_t>(a.concat_dim)],
                 part.shape);
    }
    out.push_back(std::move(joined));
  }
  return out;
}

// Processes in no group get zeros.
Result<Tensors> evaluate_broadcast(Evaluation& e) {
  const auto& a = e.op.as<CollectiveAttributes>();
  if (!e.process) return e.problem("there are no processes to communicate between");
  for (const Group& group : process_groups(a, *e.process, moving(a)))
    if (std::find(group.begin(), group.end(), e.process->number()) != group.end()) {
      auto together = meet(e, group);
      if (!together) return together.diagnostics();
      return Tensors{copy_of(together->brought[0][0])};
    }
  return Tensors{Tensor(e.types[0])};
}

// Whoever is sent nothing gets zeros.
Result<Tensors> evaluate_permute(Evaluation& e) {
  const auto& a = e.op.as<CollectiveAttributes>();
  if (!e.process) return e.problem("there are no processes to communicate between");
  const Process& p = *e.process;
  auto number = [&](int64_t id) {
    return moving(a) == Grouping::cross_replica ? id * p.num_partitions + p.partition
                                                : p.replica * p.num_partitions + id;
  };
  std::set<int64_t> members;
  int64_t source = -1;
  for (size_t i = 0; i < a.pairs.size(); i += 2) {
    members.insert({number(a.pairs[i]), number(a.pairs[i + 1])});
    if (number(a.pairs[i + 1]) == p.number()) source = number(a.pairs[i]);
  }
  if (!members.contains(p.number())) return Tensors{Tensor(e.types[0])};
  Group group(members.begin(), members.end());
  auto together = meet(e, group);
  if (!together) return together.diagnostics();
  if (source < 0) return Tensors{Tensor(e.types[0])};
  auto place = static_cast<size_t>(std::find(group.begin(), group.end(), source) - group.begin());
  return Tensors{copy_of(together->brought[place][0])};
}

Result<Tensors> evaluate_id(Evaluation& e) {
  if (!e.process) return e.problem("there are no processes to communicate between");
  int64_t id = e.op.kind == OpKind::replica_id ? e.process->replica : e.process->partition;
  return Tensors{Tensor::scalar(DType::ui32, static_cast<uint32_t>(id))};
}

Result<Tensors> refuse_transfer(Evaluation& e) {
  return e.problem("the interpreter has no host and no channels to exchange values with");
}

constexpr HandlerRow kRows[] = {
    {OpKind::all_gather, evaluate_all_gather},
    {OpKind::all_reduce, evaluate_all_reduce},
    {OpKind::all_to_all, evaluate_all_to_all},
    {OpKind::collective_broadcast, evaluate_broadcast},
    {OpKind::collective_permute, evaluate_permute},
    {OpKind::cross_replica_sum, evaluate_cross_replica_sum},
    {OpKind::infeed, refuse_transfer},
    {OpKind::outfeed, refuse_transfer},
    {OpKind::partition_id, evaluate_id},
    {OpKind::recv, refuse_transfer},
    {OpKind::reduce_scatter, evaluate_reduce_scatter},
    {OpKind::replica_id, evaluate_id},
    {OpKind::send, refuse_transfer},
};

}  // namespace

std::span<const HandlerRow> collective_handlers() {
  return kRows;
}

}  // namespace ullage::interp
