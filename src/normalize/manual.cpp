// Manual computations (shard_map) over devices that share this process: the body is written out
// once per device, and what the devices tell each other becomes ordinary operations between the
// copies. Loops and conditionals with collectives inside run all copies in step, as the devices
// would; others are copied as they are. A manual computation inside another one is written out
// together with it, once per device along the axes of both.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "normalize/rewrite.h"
#include "ops/combiner.h"
#include "partition/sharding.h"
#include "support/check.h"

namespace ullage {

namespace {

using Copies = std::vector<Value*>;  // one value per copy

bool is_collective(OpKind kind) {
  switch (kind) {
    case OpKind::all_gather:
    case OpKind::all_reduce:
    case OpKind::all_to_all:
    case OpKind::collective_broadcast:
    case OpKind::collective_permute:
    case OpKind::reduce_scatter:
      return true;
    default:
      return false;
  }
}

// Whether what it does needs all copies at once.
bool speaks_of_others(const Op& op) {
  return is_collective(op.kind) || op.kind == OpKind::sdy_manual_computation;
}

bool has_collective(const Op& op) {
  bool found = false;
  for (size_t r = 0; r < op.num_regions(); ++r)
    walk(op.nested(r), [&](Op* inner) { found |= speaks_of_others(*inner); });
  return found;
}

class Expansion {
 public:
  Expansion(Module& module, Function& function, Op* op, std::span<const Mesh> meshes)
      : module_(module),
        function_(function),
        op_(op),
        meshes_(meshes),
        region_(op->region()),
        before_(op) {}

  Status run() {
    std::vector<ValueMap> outside(1);
    if (Status status = write_out(nullptr, outside); !status) return status;
    for (size_t r = 0; r < op_->num_results(); ++r)
      op_->result(r)->replace_all_uses_with(outside[0].lookup(op_->result(r)));
    op_->erase();
    return Ok{};
  }

 private:
  // The body once per copy. `outside` has what the operation reads, one map per copy of `outer`
  // that it is in, or one; its results are added.
  Status write_out(const Expansion* outer, std::vector<ValueMap>& outside) {
    if (Status status = read(outer); !status) return status;
    std::vector<ValueMap> maps;
    const Region& body = op_->nested();
    for (size_t c = 0; c < copies_; ++c) {
      maps.push_back(outside[outer_copy_[c]]);
      for (size_t a = 0; a < body.arguments().size(); ++a)
        maps[c].set(body.argument(a), shard(maps[c].lookup(op_->operand(a)), in_[a], place_[c]));
    }
    if (Status status = emit(body, maps); !status) return status;
    for (size_t r = 0; r < op_->num_results(); ++r) {
      Copies parts;
      for (size_t c = 0; c < copies_; ++c)
        parts.push_back(maps[c].lookup(body.terminator()->operand(r)));
      for (size_t o = 0; o < outside.size(); ++o) {
        std::vector<int64_t> number;
        outside[o].set(op_->result(r), assemble(out_[r], parts, number, o));
      }
    }
    return Ok{};
  }

  Status nested(Op* op, std::vector<ValueMap>& maps) {
    Expansion inner(module_, function_, op, meshes_);
    inner.region_ = region_;
    inner.before_ = before_;
    return inner.write_out(this, maps);
  }

  // The copy of `outer` that a device's copy is in: it has the same place along all of its axes.
  static size_t copy_around(const Expansion& outer, int64_t place) {
    for (size_t o = 0; o < outer.copies_; ++o) {
      bool same = true;
      for (size_t axis = 0; axis < outer.manual_.size(); ++axis)
        same &= !outer.manual_[axis] || outer.mesh_->coordinate(place, axis) ==
                                            outer.mesh_->coordinate(outer.place_[o], axis);
      if (same) return o;
    }
    ULLAGE_CHECK(false, "a device that is in no copy of the computation around");
    return 0;
  }

  Diagnostic refuse(const Op* op, std::string why) const {
    return error(fmt::format("{}: {}", op->mnemonic(), why), module_.source(op->location));
  }

  Status read(const Expansion* outer) {
    const auto& attributes = op_->as<ShardingAttributes>();
    auto in = parse_shardings(attributes.in_shardings, meshes_);
    if (!in) return in.diagnostics();
    auto out = parse_shardings(attributes.out_shardings, meshes_);
    if (!out) return out.diagnostics();
    in_ = std::move(*in);
    out_ = std::move(*out);
    for (const auto* list : {&in_, &out_})
      for (const Sharding& sharding : *list)
        if (sharding.mesh && !sharding.mesh->axes.empty()) mesh_ = sharding.mesh;
    if (!mesh_ || in_.size() != op_->num_operands() || out_.size() != op_->num_results())
      return refuse(op_, "a manual computation whose shardings name no mesh");
    if (outer && (outer->mesh_->axes != mesh_->axes || outer->mesh_->sizes != mesh_->sizes))
      return refuse(op_, "a manual computation inside one over another mesh is not supported");
    std::vector<std::string> names = parse_axis_names(attributes.manual_axes);
    std::vector<bool> own;
    copies_ = 1;
    for (size_t axis = 0; axis < mesh_->axes.size(); ++axis) {
      own.push_back(std::find(names.begin(), names.end(), mesh_->axes[axis]) != names.end());
      manual_.push_back(own[axis] || (outer && outer->manual_[axis]));
      if (manual_[axis]) copies_ *= static_cast<size_t>(mesh_->sizes[axis]);
    }
    // Devices that differ in free axes only do the same: the first stands for them.
    copy_at_.assign(static_cast<size_t>(mesh_->devices()), -1);
    for (int64_t place = 0; place < mesh_->devices(); ++place) {
      bool first = true;
      for (size_t axis = 0; axis < manual_.size(); ++axis)
        first &= manual_[axis] || mesh_->coordinate(place, axis) == 0;
      if (!first) continue;
      copy_at_[static_cast<size_t>(place)] = static_cast<int64_t>(place_.size());
      place_.push_back(place);
      outer_copy_.push_back(outer ? copy_around(*outer, place) : 0);
    }
    ULLAGE_CHECK(place_.size() == copies_, "one place per copy");
    for (auto* list : {&in_, &out_})
      for (Sharding& sharding : *list)
        for (auto& axes : sharding.dims)
          std::erase_if(axes, [&](const MeshAxis& axis) { return !own[axis.axis]; });
    return Ok{};
  }

  Value* make(OpKind kind, std::span<Value* const> operands, Type type,
              Attributes attributes = {}) {
    return function_
        .create(*region_, kind, operands, {&type, 1}, std::move(attributes), op_->location, 0,
                before_)
        ->result();
  }

  Value* slice(Value* value, size_t dim, int64_t start, int64_t count) {
    if (value->type.shape[dim] == count) return value;
    SliceAttributes attributes;
    attributes.start.assign(value->type.shape.size(), 0);
    attributes.limit = value->type.shape;
    attributes.strides.assign(value->type.shape.size(), 1);
    attributes.start[dim] = start;
    attributes.limit[dim] = start + count;
    Type type = value->type;
    type.shape[dim] = count;
    return make(OpKind::slice, {&value, 1}, std::move(type), std::move(attributes));
  }

  Value* concatenate(const Copies& values, size_t dim) {
    if (values.size() == 1) return values[0];
    Type type = values[0]->type;
    type.shape[dim] = 0;
    for (Value* value : values) type.shape[dim] += value->type.shape[dim];
    DimAttributes attributes;
    attributes.dim = static_cast<int64_t>(dim);
    return make(OpKind::concatenate, values, std::move(type), attributes);
  }

  Value* constant(Type type, Literal literal) {
    return make(OpKind::constant, {}, std::move(type), ConstantAttributes{std::move(literal)});
  }

  Value* zeros(const Type& type) {
    std::vector<std::byte> element(static_cast<size_t>(storage_bytes(type.dtype)));
    return constant(type, Literal::make(type, std::move(element), true));
  }

  Value* device_number(const Type& type, size_t copy) {
    return constant(
        type, Literal::scalar(type.dtype, static_cast<uint32_t>(mesh_->device_at(place_[copy]))));
  }

  // Of an array that is the sum over some axes, the first device along each has all of it.
  bool first_along_unreduced(const Sharding& sharding, int64_t place) const {
    return std::all_of(sharding.unreduced.begin(), sharding.unreduced.end(),
                       [&](const MeshAxis& axis) {
                         return !manual_[axis.axis] || mesh_->coordinate(place, axis.axis) == 0;
                       });
  }

  Value* shard(Value* value, const Sharding& sharding, int64_t place) {
    for (size_t d = 0; d < sharding.dims.size(); ++d) {
      int64_t part = value->type.shape[d] / sharding.parts(d);
      value = slice(value, d, sharding.part(d, place) * part, part);
    }
    return first_along_unreduced(sharding, place) ? value : zeros(value->type);
  }

  // The copy that has this shard; of an array that is a sum over axes, all along them, added.
  Value* shard_of(const Sharding& sharding, const Copies& parts, const std::vector<int64_t>& number,
                  size_t outer_copy) {
    Value* total = nullptr;
    std::vector<bool> counts(manual_.size(), false);
    for (const MeshAxis& axis : sharding.unreduced) counts[axis.axis] = true;
    int64_t first = -1;
    for (size_t c = 0; c < copies_; ++c) {
      bool this_one = outer_copy_[c] == outer_copy;
      for (size_t d = 0; d < number.size(); ++d)
        this_one &= sharding.part(d, place_[c]) == number[d];
      // Along axes that are not added up, all have the same.
      for (size_t axis = 0; axis < manual_.size() && first >= 0; ++axis)
        this_one &=
            counts[axis] || mesh_->coordinate(place_[c], axis) == mesh_->coordinate(first, axis);
      if (!this_one) continue;
      if (first < 0) first = place_[c];
      if (!total) {
        total = parts[c];
        continue;
      }
      Value* pair[] = {total, parts[c]};
      total = make(OpKind::add, pair, total->type);
    }
    ULLAGE_CHECK(total, "a shard that no device has");
    return total;
  }

  // The whole array with the given parts along the first dimensions chosen, for one of the copies
  // around.
  Value* assemble(const Sharding& sharding, const Copies& parts, std::vector<int64_t>& number,
                  size_t outer_copy) {
    size_t d = number.size();
    if (d == sharding.dims.size()) return shard_of(sharding, parts, number, outer_copy);
    Copies along;
    for (int64_t part = 0; part < sharding.parts(d); ++part) {
      number.push_back(part);
      along.push_back(assemble(sharding, parts, number, outer_copy));
      number.pop_back();
    }
    return concatenate(along, d);
  }

  // ---- The body, for all copies ----

  Status emit(const Region& body, std::vector<ValueMap>& maps) {
    for (Op* op : body) {
      if (has_trait(op->kind, kTerminator)) break;
      Status status = Ok{};
      if (is_collective(op->kind)) {
        status = collective(op, maps);
      } else if (op->kind == OpKind::sdy_manual_computation) {
        status = nested(op, maps);
      } else if (has_collective(*op)) {
        status = in_step(op, maps);
      } else {
        for (size_t c = 0; c < copies_; ++c) copy(op, maps[c], c);
      }
      if (!status) return status;
    }
    return Ok{};
  }

  void copy(Op* op, ValueMap& map, size_t c) {
    if (op->kind == OpKind::partition_id) {
      map.set(op->result(), device_number(op->result()->type, c));
      return;
    }
    Op* made = clone(op, function_, *region_, map, before_);
    std::vector<Op*> numbers;
    for (size_t r = 0; r < made->num_regions(); ++r)
      walk(made->nested(r), [&](Op* inner) {
        if (inner->kind == OpKind::partition_id) numbers.push_back(inner);
      });
    if (numbers.empty()) return;
    Region* region = region_;
    Op* before = before_;
    before_ = made;
    Value* number = device_number(numbers[0]->result()->type, c);
    region_ = region;
    before_ = before;
    for (Op* inner : numbers) {
      inner->result()->replace_all_uses_with(number);
      inner->erase();
    }
  }

  // One loop or conditional that does the work of all copies.
  Status in_step(Op* op, std::vector<ValueMap>& maps) {
    bool loop = op->kind == OpKind::while_;
    if (!loop && op->kind != OpKind::case_ && op->kind != OpKind::if_)
      return refuse(op, "collectives inside this operation are not supported");
    std::vector<Value*> operands;
    std::vector<Type> types;
    for (size_t c = 0; c < (loop ? copies_ : 1); ++c)
      for (Value* operand : op->operands()) operands.push_back(maps[c].lookup(operand));
    for (size_t c = 0; c < copies_; ++c)
      for (Value* result : op->results()) types.push_back(result->type);
    Op* made = function_.create(*region_, op->kind, operands, types, op->attributes, op->location,
                                op->num_regions(), before_);
    Region* region = region_;
    Op* before = before_;
    for (size_t r = 0; r < op->num_regions(); ++r) {
      const Region& from = op->nested(r);
      std::vector<ValueMap> inner = maps;
      for (size_t c = 0; c < copies_; ++c)
        for (Value* argument : from.arguments())
          inner[c].set(argument, made->nested(r).add_argument(argument->type, argument->location));
      region_ = &made->nested(r);
      before_ = nullptr;
      if (Status status = emit(from, inner); !status) return status;
      // All devices take the same way: the first decides.
      bool condition = loop && r == 0;
      std::vector<Value*> results;
      for (size_t c = 0; c < (condition ? 1 : copies_); ++c)
        for (Value* value : from.terminator()->operands())
          results.push_back(inner[c].lookup(value));
      function_.create(*region_, from.terminator()->kind, results, {}, {}, op->location);
    }
    region_ = region;
    before_ = before;
    size_t next = 0;
    for (size_t c = 0; c < copies_; ++c)
      for (Value* result : op->results()) maps[c].set(result, made->result(next++));
    return Ok{};
  }

  // ---- Collectives ----

  // Copies in groups that talk to each other.
  Status groups(Op* op, std::vector<std::vector<size_t>>& out) {
    const auto& attributes = op->as<CollectiveAttributes>();
    for (int64_t g = 0; g < attributes.group_count; ++g) {
      std::vector<size_t> group;
      for (int64_t i = 0; i < attributes.group_size; ++i) {
        int64_t id = attributes.replica_groups[static_cast<size_t>(g * attributes.group_size + i)];
        if (id < 0) continue;
        int64_t place = mesh_->place_of(id);
        if (place < 0) return refuse(op, fmt::format("device {} is not in the mesh", id));
        if (int64_t copy = copy_at_[static_cast<size_t>(place)]; copy >= 0)
          group.push_back(static_cast<size_t>(copy));
      }
      if (!group.empty()) out.push_back(std::move(group));
    }
    return Ok{};
  }

  Status collective(Op* op, std::vector<ValueMap>& maps) {
    const auto& attributes = op->as<CollectiveAttributes>();
    if (op->kind == OpKind::collective_permute) return permute(op, maps);
    std::vector<std::vector<size_t>> all;
    if (Status status = groups(op, all); !status) return status;
    size_t dim = static_cast<size_t>(attributes.dim);
    for (size_t r = 0; r < op->num_results(); ++r)
      for (const std::vector<size_t>& group : all) {
        Copies values, results;
        for (size_t c : group) values.push_back(maps[c].lookup(op->operand(r)));
        int64_t count = static_cast<int64_t>(group.size());
        switch (op->kind) {
          case OpKind::all_reduce: {
            Value* total = combine(op, values);
            if (!total) return refuse(op, "this reduction is not supported");
            results.assign(group.size(), total);
            break;
          }
          case OpKind::reduce_scatter: {
            Value* total = combine(op, values);
            if (!total) return refuse(op, "this reduction is not supported");
            int64_t part = total->type.shape[dim] / count;
            for (int64_t i = 0; i < count; ++i)
              results.push_back(slice(total, dim, i * part, part));
            break;
          }
          case OpKind::all_gather:
            results.assign(group.size(), concatenate(values, dim));
            break;
          case OpKind::all_to_all: {
            int64_t part = values[0]->type.shape[dim] / attributes.split_count;
            for (int64_t i = 0; i < count; ++i) {
              Copies parts;
              for (Value* value : values) parts.push_back(slice(value, dim, i * part, part));
              results.push_back(concatenate(parts, static_cast<size_t>(attributes.concat_dim)));
            }
            break;
          }
          default:
            results.assign(group.size(), values[0]);
            break;
        }
        for (size_t i = 0; i < group.size(); ++i) maps[group[i]].set(op->result(r), results[i]);
      }
    return Ok{};
  }

  Status permute(Op* op, std::vector<ValueMap>& maps) {
    const Dims& pairs = op->as<CollectiveAttributes>().pairs;
    Copies results(copies_, nullptr);
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      int64_t from = mesh_->place_of(pairs[i]), to = mesh_->place_of(pairs[i + 1]);
      if (from < 0 || to < 0) return refuse(op, "a device that is not in the mesh");
      int64_t source = copy_at_[static_cast<size_t>(from)],
              target = copy_at_[static_cast<size_t>(to)];
      if (source >= 0 && target >= 0)
        results[static_cast<size_t>(target)] =
            maps[static_cast<size_t>(source)].lookup(op->operand(0));
    }
    for (size_t c = 0; c < copies_; ++c)
      maps[c].set(op->result(), results[c] ? results[c] : zeros(op->result()->type));
    return Ok{};
  }

  // In the order of the group; null if the reduction's body is more than elementwise operations.
  Value* combine(Op* op, const Copies& values) {
    std::optional<OpKind> plain = plain_combiner(*op);
    Value* total = values[0];
    for (size_t i = 1; i < values.size() && total; ++i) {
      Value* pair[] = {total, values[i]};
      total = plain ? make(*plain, pair, total->type) : apply(op->nested(), pair);
    }
    return total;
  }

  // The reduction's scalar body on whole arrays.
  Value* apply(const Region& body, std::span<Value* const> pair) {
    ValueMap map;
    map.set(body.argument(0), pair[0]);
    map.set(body.argument(1), pair[1]);
    for (Op* op : body) {
      if (has_trait(op->kind, kTerminator)) return map.lookup(op->operand(0));
      if (op->num_results() != 1) return nullptr;
      if (op->kind == OpKind::sdy_sharding_constraint) {
        map.set(op->result(), map.lookup(op->operand(0)));
        continue;
      }
      Type type = Type::tensor(op->result()->type.dtype, pair[0]->type.shape);
      if (op->kind == OpKind::constant) {
        Literal literal = op->as<ConstantAttributes>().value;
        map.set(op->result(), constant(type, Literal::make(type, *literal.bytes, true)));
        continue;
      }
      if (!has_trait(op->kind, kElementwise)) return nullptr;
      std::vector<Value*> operands;
      for (Value* operand : op->operands()) operands.push_back(map.lookup(operand));
      map.set(op->result(), make(op->kind, operands, type, op->attributes));
    }
    return nullptr;
  }

  Module& module_;
  Function& function_;
  Op* op_;
  std::span<const Mesh> meshes_;
  Region* region_;  // where operations are made,
  Op* before_;      // and before which; null: at the end
  const Mesh* mesh_ = nullptr;
  std::vector<Sharding> in_, out_;
  std::vector<bool> manual_;  // per axis of the mesh
  size_t copies_ = 1;
  std::vector<int64_t> place_;      // in the mesh, per copy
  std::vector<size_t> outer_copy_;  // per copy: the copy of the computation around that it is in
  std::vector<int64_t> copy_at_;    // per place; -1 for places that another one stands for
};

}  // namespace

// Whether it asks for other devices, or which one this is.
static bool speaks_of_devices(const Function& function) {
  bool found = false;
  walk(function.body(),
       [&](Op* op) { found |= speaks_of_others(*op) || op->kind == OpKind::partition_id; });
  return found;
}

Status expand_manual(Module& module, const NormalizeOptions& options) {
  if (module.meshes.empty()) return Ok{};
  Result<std::vector<Mesh>> meshes = read_meshes(module);
  if (!meshes) return meshes.diagnostics();
  for (Function* function : callees_first(module))
    inline_into(module, *function,
                [](const Op&, const Function& callee) { return speaks_of_devices(callee); });
  for (const auto& function : module.functions) {
    if (options.leaves(*function)) continue;
    for (bool found = true; found;) {
      // The outermost one first: those inside it are written out with it.
      Op* first = nullptr;
      walk(function->body(), [&](Op* op) {
        if (op->kind == OpKind::sdy_manual_computation) first = op;
      });
      found = first != nullptr;
      if (!found) break;
      for (Op* outer = first->region()->parent(); outer; outer = outer->region()->parent())
        if (outer->kind == OpKind::sdy_manual_computation) first = outer;
      Status status = Expansion(module, *function, first, *meshes).run();
      if (!status) return status;
    }
  }
  return Ok{};
}

}  // namespace ullage
