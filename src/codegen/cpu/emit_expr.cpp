#include "codegen/cpu/emit_expr.h"

#include <algorithm>

#include "codegen/cpu/runtime_numbers.h"
#include "support/check.h"

namespace ullage::cpu {

using llvm::Value;
using Kind = ExprNode::Kind;

ExprEmitter::ExprEmitter(Emit& e, const Expr& expr, const std::vector<int32_t>& roots,
                         const std::vector<KernelOutput>* outputs, Loops loops, bool small_index)
    : e_(e), expr_(expr), outputs_(outputs), loops_(std::move(loops)), small_index_(small_index) {
  std::vector<int32_t> all = roots;
  if (outputs)
    for (const KernelOutput& output : *outputs)
      for (const Access::Dynamic& dynamic : output.store.dynamic) all.push_back(dynamic.node);
  needed_ = needed_nodes(expr, all);
  depends_ = dependences(expr);
  if (loops_.vector_dim >= 0) vector_mask_ = uint64_t{1} << loops_.vector_dim;
  block_mask_ = vector_mask_;
  if (loops_.unroll_dim >= 0) block_mask_ |= uint64_t{1} << loops_.unroll_dim;
  scalar_.assign(expr.nodes.size(), nullptr);
  splat_.assign(expr.nodes.size(), nullptr);
  block_values_.assign(expr.nodes.size(), {});
  load_places_.assign(expr.nodes.size(), {});
  if (outputs) store_places_.assign(outputs->size(), {});
  index.assign(64, nullptr);

  auto access_level = [this](const Access& access) {
    uint64_t mask = 0;
    for (size_t d = 0; d < access.affine.coefficients.size(); ++d)
      if (access.affine.coefficients[d] != 0) mask |= uint64_t{1} << d;
    mask &= ~block_mask_;
    for (const Access::Dynamic& dynamic : access.dynamic)
      if (!is_block_node(dynamic.node)) mask |= depends_[static_cast<size_t>(dynamic.node)];
    return level_of(mask);
  };
  for (size_t i = 0; i < expr.nodes.size(); ++i)
    if (needed_[i] && expr.nodes[i].kind == Kind::load)
      load_places_[i].level = access_level(expr.nodes[i].access);
  if (outputs)
    for (size_t k = 0; k < outputs->size(); ++k)
      store_places_[k].level = access_level((*outputs)[k].store);
}

int ExprEmitter::level_of(uint64_t depends) const {
  int level = 0;
  for (size_t i = 0; i < loops_.order.size(); ++i)
    if (depends & (uint64_t{1} << loops_.order[i])) level = static_cast<int>(i) + 1;
  return level;
}

void ExprEmitter::bind(Value* buffers, int first_output) {
  auto buffer = [&](int number) {
    Value* slot =
        e_.b.CreateConstInBoundsGEP1_64(e_.b.getPtrTy(), buffers, static_cast<uint64_t>(number));
    return e_.b.CreateLoad(e_.b.getPtrTy(), slot);
  };
  for (size_t i = 0; i < expr_.nodes.size(); ++i) {
    const ExprNode& node = expr_.nodes[i];
    if (!needed_[i] || node.kind != Kind::load) continue;
    size_t input = static_cast<size_t>(node.input);
    if (buffers_.size() <= input) buffers_.resize(input + 1, nullptr);
    if (!buffers_[input]) buffers_[input] = buffer(node.input);
  }
  if (outputs_)
    for (size_t k = 0; k < outputs_->size(); ++k)
      output_buffers_.push_back(
          buffer(first_output +
                 ((*outputs_)[k].result >= 0 ? (*outputs_)[k].result : static_cast<int>(k))));
}

Value* ExprEmitter::index_at(int dim, int u) {
  Value* at = index[static_cast<size_t>(dim)];
  if (dim != loops_.unroll_dim || u == 0) return at;
  return e_.b.CreateAdd(at, e_.i64(u * unroll_stride_));
}

Value* ExprEmitter::outer_address(const Access& access, Value* buffer, llvm::Type* element) {
  Value* offset = nullptr;
  auto add = [&](Value* term) { offset = offset ? e_.b.CreateAdd(offset, term) : term; };
  for (size_t d = 0; d < access.affine.coefficients.size(); ++d) {
    int64_t c = access.affine.coefficients[d];
    if (c == 0 || (block_mask_ & (uint64_t{1} << d))) continue;
    add(e_.scaled(index[d], c));
  }
  for (const Access::Dynamic& dynamic : access.dynamic)
    if (!is_block_node(dynamic.node))
      add(e_.b.CreateMul(scalar_[static_cast<size_t>(dynamic.node)], e_.number(dynamic.stride)));
  Value* address = offset ? e_.b.CreateGEP(element, buffer, offset) : buffer;
  if (access.affine.constant != 0)
    address = e_.b.CreateGEP(element, address, e_.number(access.affine.constant));
  return address;
}

void ExprEmitter::emit_bases(int level) {
  for (size_t i = 0; i < expr_.nodes.size(); ++i) {
    const ExprNode& node = expr_.nodes[i];
    if (!needed_[i] || node.kind != Kind::load || !is_block_node(static_cast<int32_t>(i))) continue;
    if (load_places_[i].level != level) continue;
    load_places_[i].base = outer_address(node.access, buffers_[static_cast<size_t>(node.input)],
                                         e_.memory_type(node.dtype));
  }
  for (size_t k = 0; k < store_places_.size(); ++k) {
    if (store_places_[k].level != level) continue;
    DType dtype = stored_dtypes.empty()
                      ? expr_.nodes[static_cast<size_t>((*outputs_)[k].node)].dtype
                      : stored_dtypes[k];
    store_places_[k].base =
        outer_address((*outputs_)[k].store, output_buffers_[k], e_.memory_type(dtype));
  }
}

void ExprEmitter::scalars(int level) {
  for (size_t i = 0; i < expr_.nodes.size(); ++i) {
    int32_t node = static_cast<int32_t>(i);
    if (!needed_[i] || is_block_node(node) || level_of(depends_[i]) != level) continue;
    scalar_[i] = emit_node(node, 0);
    splat_[i] = nullptr;
  }
  // Splats that vector nodes will want are made here, outside the loops that use them.
  if (vector_mask_ != 0) {
    auto want = [&](int32_t operand) {
      size_t at = static_cast<size_t>(operand);
      if (operand < 0 || is_block_node(operand) || level_of(depends_[at]) != level || splat_[at])
        return;
      splat_[at] = e_.splat(scalar_[at]);
    };
    for (size_t i = 0; i < expr_.nodes.size(); ++i) {
      if (!needed_[i] || !is_vector_node(static_cast<int32_t>(i))) continue;
      if (expr_.nodes[i].kind == Kind::op)
        for (int32_t operand : expr_.nodes[i].operands) want(operand);
    }
  }
  emit_bases(level);
}

void ExprEmitter::block(int unroll, int64_t stride, Value* mask) {
  unroll_ = unroll;
  unroll_stride_ = stride;
  mask_ = mask;
  uint64_t unroll_mask = loops_.unroll_dim >= 0 ? uint64_t{1} << loops_.unroll_dim : 0;
  for (size_t i = 0; i < expr_.nodes.size(); ++i) {
    int32_t node = static_cast<int32_t>(i);
    if (!needed_[i] || !is_block_node(node)) continue;
    block_values_[i].assign(static_cast<size_t>(unroll), nullptr);
    bool once = (depends_[i] & unroll_mask) == 0;
    for (int u = 0; u < unroll; ++u)
      block_values_[i][static_cast<size_t>(u)] =
          once && u > 0 ? block_values_[i][0] : emit_node(node, u);
  }
}

Value* ExprEmitter::value(int32_t node, int u) {
  size_t at = static_cast<size_t>(node);
  return is_block_node(node) ? block_values_[at][static_cast<size_t>(u)] : scalar_[at];
}

Value* ExprEmitter::vector_value(int32_t node, int u) {
  size_t at = static_cast<size_t>(node);
  Value* found = value(node, u);
  if (found->getType()->isVectorTy()) return found;
  if (!is_block_node(node) && splat_[at]) return splat_[at];
  return e_.splat(found);
}

Value* ExprEmitter::operand(int32_t node, bool vector, int u) {
  return vector ? vector_value(node, u) : value(node, u);
}

// The affine index minus `less` as an integer of the width that `as` needs, per lane if `vector`.
Value* ExprEmitter::affine_value(const Access& access, int64_t less, bool vector, DType as, int u) {
  llvm::Type* type = is_int(as)     ? e_.held_type(as)
                     : small_index_ ? e_.b.getInt32Ty()
                                    : e_.b.getInt64Ty();
  int64_t lane_stride = 0;
  Value* sum = e_.number(access.affine.constant);
  if (less != 0) sum = e_.b.CreateSub(sum, e_.i64(less));
  for (size_t d = 0; d < access.affine.coefficients.size(); ++d) {
    int64_t c = access.affine.coefficients[d];
    if (c == 0) continue;
    if (static_cast<int>(d) == loops_.vector_dim) lane_stride = c;
    sum = e_.b.CreateAdd(sum, e_.scaled(index_at(static_cast<int>(d), u), c));
  }
  Value* scalar = e_.b.CreateTrunc(sum, type);
  if (!vector) return scalar;
  Value* base = e_.splat(scalar);
  return lane_stride == 0 ? base : e_.b.CreateAdd(base, e_.lane_numbers(type, lane_stride));
}

Value* ExprEmitter::emit_node(int32_t number, int u) {
  const ExprNode& node = expr_.nodes[static_cast<size_t>(number)];
  bool vector = is_vector_node(number);
  switch (node.kind) {
    case Kind::load:
      return is_block_node(number) ? emit_load(number, u) : emit_scalar_load(number);
    case Kind::constant:
      return node.input < 0 ? emit_constant(e_, node) : e_.constant(node.input, node.dtype);
    case Kind::index: {
      Value* integer = affine_value(node.access, 0, vector, node.dtype, u);
      if (is_int(node.dtype)) return emit_normalize(e_, integer, node.dtype);
      return emit_convert(e_, integer, small_index_ ? DType::i32 : DType::i64, node.dtype);
    }
    case Kind::in_range: {
      Value* offset = affine_value(node.access, node.lower, vector, DType::i1, u);
      Value* width = is_number(node.upper) ? e_.number(node.upper)
                                           : e_.i64(std::max<int64_t>(0, node.upper - node.lower));
      return e_.b.CreateICmpULT(offset, e_.like_index(offset, width));
    }
    case Kind::accumulator:
      return parameters[0][static_cast<size_t>(u)];
    case Kind::parameter:
      return parameters[static_cast<size_t>(node.input)][static_cast<size_t>(u)];
    case Kind::op:
      break;
  }
  const ExprNode& first = expr_.nodes[static_cast<size_t>(node.operands[0])];
  // An index that is cut down to fewer bits is computed in those bits.
  if (node.op == OpKind::convert && first.kind == Kind::index && is_int(first.dtype) &&
      is_int(node.dtype) && bit_width(node.dtype) >= 8 &&
      bit_width(node.dtype) <= bit_width(first.dtype))
    return affine_value(first.access, 0, vector, node.dtype, u);
  std::vector<Value*> operands;
  for (int32_t operand_number : node.operands)
    if (operand_number >= 0) operands.push_back(operand(operand_number, vector, u));
  int32_t typed = node.op == OpKind::select ? node.operands[1] : node.operands[0];
  return emit_operation(e_, node, expr_.nodes[static_cast<size_t>(typed)].dtype, operands);
}

Value* ExprEmitter::emit_scalar_load(int32_t number) {
  const ExprNode& node = expr_.nodes[static_cast<size_t>(number)];
  llvm::Type* element = e_.memory_type(node.dtype);
  Value* address = outer_address(node.access, buffers_[static_cast<size_t>(node.input)], element);
  if (node.guard >= 0) address = e_.b.CreateSelect(value(node.guard, 0), address, e_.zeros());
  return from_memory(e_, e_.b.CreateLoad(element, address), node.dtype);
}

Value* ExprEmitter::block_address(const Access& access, Value* base, llvm::Type* element, int u,
                                  int64_t& lane_stride, Value*& offsets) {
  lane_stride = 0;
  offsets = nullptr;
  Value* address = base;
  for (size_t d = 0; d < access.affine.coefficients.size(); ++d) {
    int64_t c = access.affine.coefficients[d];
    if (c == 0 || !(block_mask_ & (uint64_t{1} << d))) continue;
    if (static_cast<int>(d) == loops_.vector_dim) lane_stride = c;
    address = e_.b.CreateGEP(element, address, e_.scaled(index[d], c));
    if (static_cast<int>(d) == loops_.unroll_dim && u > 0)
      address = e_.b.CreateGEP(element, address, e_.scaled(e_.i64(u * unroll_stride_), c));
  }
  for (const Access::Dynamic& dynamic : access.dynamic) {
    if (!is_block_node(dynamic.node)) continue;
    Value* at = value(dynamic.node, u);
    Value* term = e_.b.CreateMul(at, e_.like_index(at, e_.number(dynamic.stride)));
    if (term->getType()->isVectorTy()) {
      offsets = offsets ? e_.b.CreateAdd(offsets, term) : term;
    } else {
      address = e_.b.CreateGEP(element, address, term);
    }
  }
  return address;
}

static Value* reversed(Emit& e, Value* vector) {
  std::vector<int> lanes;
  for (int i = e.lanes; i-- > 0;) lanes.push_back(i);
  return e.b.CreateShuffleVector(vector, lanes);
}

// Of lane * stride, per lane.
static Value* lane_offsets(Emit& e, llvm::Type* type, int64_t stride) {
  if (!is_number(stride)) return e.lane_numbers(type, stride);
  Value* scalar = e.b.CreateTrunc(e.number(stride), type);
  return e.b.CreateMul(e.lane_numbers(type), e.splat(scalar));
}

// The addresses of lanes 0, 1, ..., asked for in order.
static auto lane_addresses(Emit& e, Value* first, llvm::Type* element, int64_t stride) {
  return [&e, first, element, stride, next = first](int lane) mutable {
    if (!is_number(stride)) return e.b.CreateGEP(element, first, e.i64(lane * stride));
    Value* at = next;
    next = e.b.CreateGEP(element, next, e.number(stride));
    return at;
  };
}

static bool has_gather(const Host& host, llvm::Type* element) {
  return host.level == IsaLevel::avx512 && element->getScalarSizeInBits() >= 32;
}

// Loads one element per lane at address + lane * lane_stride + offsets; lanes outside the mask give
// zero, unread.
Value* ExprEmitter::load_lanes(Value* address, llvm::Type* element, int64_t lane_stride,
                               Value* offsets, Value* mask) {
  llvm::VectorType* type = e_.vector(element);
  llvm::Align align(element->getPrimitiveSizeInBits() / 8);
  if (!offsets && (lane_stride == 1 || lane_stride == -1)) {
    bool backward = lane_stride == -1;
    if (backward) address = e_.b.CreateGEP(element, address, e_.i64(1 - e_.lanes));
    Value* loaded;
    if (mask) {
      Value* lanes = backward ? reversed(e_, mask) : mask;
      loaded =
          e_.b.CreateMaskedLoad(type, address, align, lanes, llvm::Constant::getNullValue(type));
    } else {
      loaded = e_.b.CreateAlignedLoad(type, address, align);
    }
    return backward ? reversed(e_, loaded) : loaded;
  }
  if (!offsets && !mask && lane_stride == 2) {
    // The second vector begins one element early, so that nothing behind the last one is read.
    Value* second = e_.b.CreateGEP(element, address, e_.i64(e_.lanes - 1));
    std::vector<int> lanes;
    for (int lane = 0; lane < e_.lanes; ++lane)
      lanes.push_back(2 * lane < e_.lanes ? 2 * lane : 2 * lane + 1);
    return e_.b.CreateShuffleVector(e_.b.CreateAlignedLoad(type, address, align),
                                    e_.b.CreateAlignedLoad(type, second, align), lanes);
  }
  if (!offsets && mask && lane_stride == 2 && e_.host.level == IsaLevel::avx2 &&
      element->getScalarSizeInBits() >= 32) {
    // The elements between are never read: they may not exist.
    Value* halves[2];
    std::vector<int> lanes;
    for (int lane = 0; lane < e_.lanes; ++lane) lanes.push_back(2 * lane);
    Value* none = llvm::ConstantInt::getFalse(mask->getType());
    for (int half : {0, 1}) {
      std::vector<int> active;
      for (int lane = 0; lane < e_.lanes; ++lane)
        active.push_back(lane % 2 == 0 ? half * e_.lanes / 2 + lane / 2 : e_.lanes);
      Value* at = e_.b.CreateGEP(element, address, e_.i64(half * e_.lanes));
      halves[half] =
          e_.b.CreateMaskedLoad(type, at, align, e_.b.CreateShuffleVector(mask, none, active),
                                llvm::Constant::getNullValue(type));
    }
    return e_.b.CreateShuffleVector(halves[0], halves[1], lanes);
  }
  if (!offsets && !mask && !has_gather(e_.host, element)) {
    Value* result = llvm::PoisonValue::get(type);
    auto at = lane_addresses(e_, address, element, lane_stride);
    for (int lane = 0; lane < e_.lanes; ++lane) {
      result = e_.b.CreateInsertElement(result, e_.b.CreateAlignedLoad(element, at(lane), align),
                                        static_cast<uint64_t>(lane));
    }
    return result;
  }
  // Lane offsets in 32 bits where they fit: half the address arithmetic.
  bool narrow = !offsets && (is_number(lane_stride) || std::abs(lane_stride) < (int64_t{1} << 26));
  Value* lanes = lane_offsets(e_, narrow ? e_.b.getInt32Ty() : e_.b.getInt64Ty(), lane_stride);
  if (offsets) lanes = e_.b.CreateAdd(offsets, lanes);
  Value* addresses = e_.b.CreateGEP(element, address, lanes);
  if (has_gather(e_.host, element)) {
    Value* active = mask ? mask : llvm::ConstantInt::getTrue(e_.vector(e_.b.getInt1Ty()));
    return e_.b.CreateMaskedGather(type, addresses, align, active,
                                   llvm::Constant::getNullValue(type));
  }
  if (mask) addresses = e_.b.CreateSelect(mask, addresses, e_.splat(e_.zeros()));
  Value* result = llvm::PoisonValue::get(type);
  for (uint64_t lane = 0; lane < static_cast<uint64_t>(e_.lanes); ++lane) {
    Value* at = e_.b.CreateExtractElement(addresses, lane);
    result = e_.b.CreateInsertElement(result, e_.b.CreateAlignedLoad(element, at, align), lane);
  }
  return result;
}

Value* ExprEmitter::emit_load(int32_t number, int u) {
  const ExprNode& node = expr_.nodes[static_cast<size_t>(number)];
  llvm::Type* element = e_.memory_type(node.dtype);
  if (tile_row_ && tiles_[static_cast<size_t>(number)]) {
    Value* row = e_.b.CreateGEP(element, tiles_[static_cast<size_t>(number)],
                                e_.b.CreateMul(tile_row_, e_.i64(e_.lanes)));
    llvm::Align align(element->getPrimitiveSizeInBits() / 8);
    return from_memory(e_, e_.b.CreateAlignedLoad(e_.vector(element), row, align), node.dtype);
  }
  int64_t lane_stride = 0;
  Value* offsets = nullptr;
  Value* address = block_address(node.access, load_places_[static_cast<size_t>(number)].base,
                                 element, u, lane_stride, offsets);
  Value* guard = node.guard >= 0 ? value(node.guard, u) : nullptr;
  bool guard_lanes = guard && guard->getType()->isVectorTy();
  bool lanes = lane_stride != 0 || offsets;
  if (!is_vector_node(number) || !lanes) {
    // One address for all lanes.
    if (guard)
      address =
          e_.b.CreateSelect(guard_lanes ? e_.b.CreateOrReduce(guard) : guard, address, e_.zeros());
    Value* loaded = from_memory(e_, e_.b.CreateLoad(element, address), node.dtype);
    if (!guard_lanes) return loaded;
    Value* all = e_.splat(loaded);
    return e_.b.CreateSelect(guard, all, llvm::Constant::getNullValue(all->getType()));
  }
  Value* mask = mask_;
  if (guard_lanes) {
    mask = mask ? e_.b.CreateAnd(mask, guard) : guard;
  } else if (guard && !offsets && lane_stride == 1) {
    address = e_.b.CreateSelect(guard, address, e_.zeros());
  } else if (guard) {
    Value* all = e_.splat(guard);
    mask = mask ? e_.b.CreateAnd(mask, all) : all;
  }
  return from_memory(e_, load_lanes(address, element, lane_stride, offsets, mask), node.dtype);
}

void ExprEmitter::fill_tiles(int tile_dim) {
  tiles_.resize(expr_.nodes.size(), nullptr);
  size_t vector = static_cast<size_t>(loops_.vector_dim);
  for (size_t i = 0; i < expr_.nodes.size(); ++i) {
    if (!needed_[i] || !is_transposed_load(expr_, depends_, i, loops_.vector_dim, tile_dim))
      continue;
    const ExprNode& node = expr_.nodes[i];
    llvm::Type* element = e_.memory_type(node.dtype);
    llvm::Align align(element->getPrimitiveSizeInBits() / 8);
    if (!tiles_[i]) {
      llvm::BasicBlock& entry = e_.function->getEntryBlock();
      llvm::IRBuilder<> at_entry(&entry, entry.begin());
      uint64_t elements = static_cast<uint64_t>(e_.lanes) * static_cast<uint64_t>(e_.lanes);
      llvm::AllocaInst* slot = at_entry.CreateAlloca(llvm::ArrayType::get(element, elements));
      slot->setAlignment(llvm::Align(64));
      tiles_[i] = slot;
    }
    Value* address = outer_address(node.access, buffers_[static_cast<size_t>(node.input)], element);
    Value* stride = e_.number(node.access.affine.coefficients[vector]);
    address = e_.b.CreateGEP(element, address, e_.b.CreateMul(index[vector], stride));
    std::vector<Value*> rows;
    for (int lane = 0; lane < e_.lanes; ++lane) {
      Value* at = e_.b.CreateGEP(element, address, e_.b.CreateMul(stride, e_.i64(lane)));
      rows.push_back(e_.b.CreateAlignedLoad(e_.vector(element), at, align));
    }
    rows = transpose_lanes(e_, std::move(rows));
    for (int u = 0; u < e_.lanes; ++u)
      e_.b.CreateAlignedStore(rows[static_cast<size_t>(u)],
                              e_.b.CreateGEP(element, tiles_[i], e_.i64(u * e_.lanes)), align);
  }
}

void ExprEmitter::prefetch(int unroll, int64_t ahead) {
  size_t dim = static_cast<size_t>(loops_.unroll_dim);
  for (size_t i = 0; i < expr_.nodes.size(); ++i) {
    const ExprNode& node = expr_.nodes[i];
    if (!needed_[i] || node.kind != Kind::load || !is_block_node(static_cast<int32_t>(i))) continue;
    const std::vector<int64_t>& c = node.access.affine.coefficients;
    if (dim >= c.size() || c[dim] == 0) continue;
    llvm::Type* element = e_.memory_type(node.dtype);
    for (int u = 0; u < unroll; ++u) {
      int64_t lane_stride = 0;
      Value* offsets = nullptr;
      Value* address =
          block_address(node.access, load_places_[i].base, element, u, lane_stride, offsets);
      if (lane_stride != 1 || offsets) break;
      address = e_.b.CreateGEP(element, address, e_.scaled(e_.i64(ahead), c[dim]));
      e_.b.CreateIntrinsic(llvm::Intrinsic::prefetch, {e_.b.getPtrTy()},
                           {address, e_.b.getInt32(0), e_.b.getInt32(3), e_.b.getInt32(1)});
    }
  }
}

void ExprEmitter::store_lanes(Value* address, Value* value, int64_t lane_stride, Value* offsets,
                              Value* mask) {
  llvm::Type* element = value->getType()->getScalarType();
  llvm::Align align(element->getPrimitiveSizeInBits() / 8);
  if (!offsets && (lane_stride == 1 || lane_stride == -1)) {
    if (lane_stride == -1) {
      address = e_.b.CreateGEP(element, address, e_.i64(1 - e_.lanes));
      value = reversed(e_, value);
      if (mask) mask = reversed(e_, mask);
    }
    if (mask)
      e_.b.CreateMaskedStore(value, address, align, mask);
    else
      e_.b.CreateAlignedStore(value, address, align);
    return;
  }
  // Lane order is kept: where two lanes meet, the later one stays.
  Value* lanes = lane_offsets(e_, e_.b.getInt64Ty(), lane_stride);
  if (offsets) lanes = e_.b.CreateAdd(offsets, lanes);
  Value* addresses = e_.b.CreateGEP(element, address, lanes);
  if (mask || has_gather(e_.host, element)) {
    Value* active = mask ? mask : llvm::ConstantInt::getTrue(e_.vector(e_.b.getInt1Ty()));
    e_.b.CreateMaskedScatter(value, addresses, align, active);
    return;
  }
  auto at = lane_addresses(e_, address, element, lane_stride);
  for (int lane = 0; lane < e_.lanes; ++lane) {
    uint64_t number = static_cast<uint64_t>(lane);
    Value* to = offsets ? e_.b.CreateExtractElement(addresses, number) : at(lane);
    e_.b.CreateAlignedStore(e_.b.CreateExtractElement(value, number), to, align);
  }
}

Value* ExprEmitter::output_address(int output, llvm::Type* element, int u, int64_t& lane_stride,
                                   Value*& offsets) {
  size_t k = static_cast<size_t>(output);
  return block_address((*outputs_)[k].store, store_places_[k].base, element, u, lane_stride,
                       offsets);
}

void ExprEmitter::store(int output, Value* held, DType dtype, int u) {
  llvm::Type* element = e_.memory_type(dtype);
  int64_t lane_stride = 0;
  Value* offsets = nullptr;
  Value* address = output_address(output, element, u, lane_stride, offsets);
  Value* stored = to_memory(e_, held, dtype);
  if (loops_.vector_dim < 0 || (lane_stride == 0 && !offsets)) {
    if (stored->getType()->isVectorTy()) stored = e_.b.CreateExtractElement(stored, uint64_t{0});
    e_.b.CreateStore(stored, address);
    return;
  }
  if (!stored->getType()->isVectorTy()) stored = e_.splat(stored);
  store_lanes(address, stored, lane_stride, offsets, mask_);
}

bool ExprEmitter::takes_turns(int output) const {
  size_t k = static_cast<size_t>(output), dim = static_cast<size_t>(loops_.vector_dim);
  if (loops_.vector_dim < 0 || !outputs_ || k + 1 >= outputs_->size()) return false;
  const KernelOutput &a = (*outputs_)[k], &b = (*outputs_)[k + 1];
  if (a.result < 0 || a.result != b.result) return false;
  const std::vector<int64_t>& c = a.store.affine.coefficients;
  for (const Access::Dynamic& dynamic : a.store.dynamic)
    if (is_vector_node(dynamic.node)) return false;
  return dim < c.size() && c[dim] == 2 && c == b.store.affine.coefficients &&
         a.store.affine.constant + 1 == b.store.affine.constant &&
         a.store.dynamic == b.store.dynamic;
}

void ExprEmitter::store_turns(int output, Value* first, Value* second, DType dtype, int u) {
  llvm::Type* element = e_.memory_type(dtype);
  int64_t lane_stride = 0;
  Value* offsets = nullptr;
  Value* address = output_address(output, element, u, lane_stride, offsets);
  auto vector = [&](Value* held) {
    Value* stored = to_memory(e_, held, dtype);
    return stored->getType()->isVectorTy() ? stored : e_.splat(stored);
  };
  auto half = [&](Value* a, Value* b, int number) {
    std::vector<int> lanes;
    for (int i = 0; i < e_.lanes; ++i)
      lanes.push_back(number * e_.lanes / 2 + i / 2 + (i % 2) * e_.lanes);
    return e_.b.CreateShuffleVector(a, b, lanes);
  };
  Value *a = vector(first), *b = vector(second);
  for (int number : {0, 1})
    store_lanes(e_.b.CreateGEP(element, address, e_.i64(number * e_.lanes)), half(a, b, number), 1,
                nullptr, mask_ ? half(mask_, mask_, number) : nullptr);
}

Value* ExprEmitter::load_output(int output, DType dtype, int u) {
  llvm::Type* element = e_.memory_type(dtype);
  int64_t lane_stride = 0;
  Value* offsets = nullptr;
  Value* address = output_address(output, element, u, lane_stride, offsets);
  if (loops_.vector_dim < 0 || (lane_stride == 0 && !offsets))
    return from_memory(e_, e_.b.CreateLoad(element, address), dtype);
  return from_memory(e_, load_lanes(address, element, lane_stride, offsets, mask_), dtype);
}

Value* ExprEmitter::store_offset(int output, uint64_t dims, int u) {
  const Access& access = (*outputs_)[static_cast<size_t>(output)].store;
  Value* sum = e_.number(access.affine.constant);
  Value* per_lane = nullptr;
  for (size_t d = 0; d < access.affine.coefficients.size(); ++d) {
    int64_t c = access.affine.coefficients[d];
    if (c == 0 || !(dims & (uint64_t{1} << d))) continue;
    sum = e_.b.CreateAdd(sum, e_.scaled(index_at(static_cast<int>(d), u), c));
    if (static_cast<int>(d) == loops_.vector_dim)
      per_lane = e_.b.CreateMul(e_.lane_numbers(e_.b.getInt64Ty()), e_.splat(e_.number(c)));
  }
  for (const Access::Dynamic& dynamic : access.dynamic) {
    Value* at = value(dynamic.node, u);
    Value* term = e_.b.CreateMul(at, e_.like_index(at, e_.number(dynamic.stride)));
    if (!term->getType()->isVectorTy())
      sum = e_.b.CreateAdd(sum, term);
    else
      per_lane = per_lane ? e_.b.CreateAdd(per_lane, term) : term;
  }
  return per_lane ? e_.b.CreateAdd(e_.splat(sum), per_lane) : sum;
}

// Operations that are computed for one lane after another: repeating their code gains nothing.
static bool lane_by_lane(const ExprNode& node) {
  if (is_int(node.dtype))
    return node.op == OpKind::divide || node.op == OpKind::remainder || node.op == OpKind::power;
  if (node.op == OpKind::remainder) return true;
  return operation_cost(node.op, node.dtype) >= 20 && node.dtype == DType::f64;
}

int choose_unroll(const Expr& expr, const std::vector<bool>& needed, const Host& host,
                  uint64_t vector_mask) {
  std::vector<uint64_t> depends = dependences(expr);
  size_t nodes = expr.nodes.size();
  // The greatest number of vector registers that live values take when one vector is computed.
  std::vector<size_t> last_use(nodes, 0);
  int count = 0;
  for (size_t i = 0; i < nodes; ++i) {
    if (!needed[i] || !(depends[i] & vector_mask)) continue;
    ++count;
    last_use[i] = std::max(last_use[i], i);
    for (int32_t operand : expr.nodes[i].operands)
      if (operand >= 0) last_use[static_cast<size_t>(operand)] = i;
  }
  auto registers = [&](size_t i) {
    int bytes = kLanes * std::max(4, storage_bytes(expr.nodes[i].dtype));
    return std::max(1, bytes / host.vector_bytes);
  };
  int live = 0, most = 0;
  for (size_t i = 0; i < nodes; ++i) {
    if (!needed[i] || !(depends[i] & vector_mask)) continue;
    live += registers(i);
    most = std::max(most, live);
    for (size_t j = 0; j <= i; ++j)
      if (needed[j] && (depends[j] & vector_mask) && last_use[j] == i) live -= registers(j);
    if (i > 600) break;  // long expressions are not interleaved anyway
  }
  double weight = 0;
  for (size_t i = 0; i < nodes; ++i) {
    const ExprNode& node = expr.nodes[i];
    if (!needed[i] || node.kind != ExprNode::Kind::op || !(depends[i] & vector_mask)) continue;
    weight += operation_cost(node.op, node.dtype);
    if (lane_by_lane(node)) return 1;
  }
  if (weight > 600) return 1;
  int fitting = std::clamp((host.vector_registers - 4) / std::max(1, most), 1, 4);
  if (weight > 150) fitting = std::min(fitting, 2);
  return fitting == 3 ? 2 : fitting;
}

}  // namespace ullage::cpu
