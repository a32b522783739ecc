// Reductions, windows, sorting.
#include <algorithm>

#include "ops/infer.h"
#include "random/makers.h"

namespace ullage::random_programs {

namespace {

Value* with_rank(Generator& g, int64_t least, bool complex = true) {
  auto wanted = [&](const Type& t) {
    return t.rank() >= least && (complex || !is_complex(t.dtype));
  };
  if (Value* value = g.pick(wanted)) return value;
  return g.fresh(Type::tensor(complex ? g.dtype() : DType::f32, g.shape(least)));
}

OpKind combiner(Generator& g, DType dtype) {
  std::vector<OpKind> kinds = {OpKind::add};
  if (is_complex(dtype)) return OpKind::add;
  kinds.insert(kinds.end(), {OpKind::maximum, OpKind::minimum});
  if (is_int(dtype))
    kinds.insert(kinds.end(), {OpKind::multiply, OpKind::and_, OpKind::or_, OpKind::xor_});
  if (dtype == DType::i1) kinds = {OpKind::and_, OpKind::or_, OpKind::xor_};
  return g.random.pick(kinds);
}

// A neutral element most of the time.
Value* initial(Generator& g, OpKind kind, DType dtype) {
  Type type = Type::tensor(dtype, {});
  if (g.random.chance(25)) return g.like(type);
  if (kind == OpKind::add || kind == OpKind::or_ || kind == OpKind::xor_)
    return g.constant(Tensor(type));
  return g.fresh(type);
}

bool fill_combiner(Generator& g, Op* op, size_t region, OpKind kind, DType dtype) {
  Region& body = op->nested(region);
  Value* a = body.add_argument(g.scalar(dtype));
  Value* b = body.add_argument(g.scalar(dtype));
  if (g.random.chance(20)) std::swap(a, b);
  Value* result = g.create(body, kind, {a, b}, {g.scalar(dtype)})->result();
  g.create(body, OpKind::return_, {result}, {});
  return true;
}

void reduce(Generator& g) {
  Value* x = with_rank(g, 1);
  DType dtype = x->type.dtype;
  Dims dims;
  std::vector<int64_t> rest;
  for (int64_t d = 0; d < x->type.rank(); ++d) {
    if (g.random.chance(50))
      dims.push_back(d);
    else
      rest.push_back(x->type.shape[static_cast<size_t>(d)]);
  }
  OpKind kind = combiner(g, dtype);
  Value* init = initial(g, kind, dtype);
  g.append_with_regions(OpKind::reduce, {x, init}, DimsAttributes{dims, {}, {}},
                        {Type::tensor(dtype, rest)}, 1,
                        [&](Op* op) { return fill_combiner(g, op, 0, kind, dtype); });
}

// The largest element and where it is, or a sum beside a maximum.
void reduce_two(Generator& g) {
  Value* x = with_rank(g, 1, false);
  DType dtype = x->type.dtype;
  if (dtype == DType::i1) return;
  auto dim = g.random.below(x->type.rank());
  std::vector<int64_t> rest = x->type.shape;
  rest.erase(rest.begin() + dim);
  DType position = g.random.chance(70) ? DType::i32 : DType::i64;
  Op* places =
      g.append(OpKind::iota, {}, DimAttributes{dim, 0}, {Type::tensor(position, x->type.shape)});
  if (!places) return;
  Value* zero = g.constant(Tensor(Type::tensor(position, {})));
  Value* init = g.like(Type::tensor(dtype, {}));
  Type number = g.scalar(dtype), index = g.scalar(position), truth = g.scalar(DType::i1);
  g.append_with_regions(
      OpKind::reduce, {x, places->result(), init, zero}, DimsAttributes{{dim}, {}, {}},
      {Type::tensor(dtype, rest), Type::tensor(position, rest)}, 1, [&](Op* op) {
        Region& r = op->nested();
        Value* a = r.add_argument(number);
        Value* i = r.add_argument(index);
        Value* b = r.add_argument(number);
        Value* j = r.add_argument(index);
        auto compare = [&](Value* l, Value* m, CompareDirection direction) {
          return g
              .create(r, OpKind::compare, {l, m}, {truth},
                      CompareAttributes{direction, CompareType::unspecified})
              ->result();
        };
        Value* greater = compare(a, b, CompareDirection::gt);
        Value* equal = compare(a, b, CompareDirection::eq);
        Value* before = compare(i, j, CompareDirection::lt);
        Value* both = g.create(r, OpKind::and_, {equal, before}, {truth})->result();
        Value* first = g.create(r, OpKind::or_, {greater, both}, {truth})->result();
        Value* value = g.create(r, OpKind::select, {first, a, b}, {number})->result();
        Value* where = g.create(r, OpKind::select, {first, i, j}, {index})->result();
        g.create(r, OpKind::return_, {value, where}, {});
        return true;
      });
}

std::vector<int64_t> windows(const std::vector<int64_t>& shape, const WindowAttributes& a) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < shape.size(); ++d) {
    WindowDimension w;
    w.size = shape[d];
    w.window = a.window_dimensions[d];
    if (!a.window_strides.empty()) w.stride = a.window_strides[d];
    if (!a.padding.empty()) w.low = a.padding[d].first, w.high = a.padding[d].second;
    if (!a.base_dilations.empty()) w.base_dilation = a.base_dilations[d];
    if (!a.window_dilations.empty()) w.window_dilation = a.window_dilations[d];
    out.push_back(num_windows(w));
  }
  return out;
}

void reduce_window(Generator& g) {
  Value* x = with_rank(g, 1);
  DType dtype = x->type.dtype;
  WindowAttributes a;
  bool cumulative = g.random.chance(25);
  int64_t scanned = g.random.below(x->type.rank());
  for (int64_t d = 0; d < x->type.rank(); ++d) {
    int64_t extent = x->type.shape[static_cast<size_t>(d)];
    if (cumulative) {
      if (d != scanned) {
        a.window_dimensions.push_back(1), a.padding.push_back({0, 0});
        continue;
      }
      if (extent == 0) return;
      a.window_dimensions.push_back(extent);
      bool backwards = g.random.chance(40);
      a.padding.push_back({backwards ? 0 : extent - 1, backwards ? extent - 1 : 0});
      continue;
    }
    a.window_dimensions.push_back(g.random.chance(40) ? 1 : g.random.between(1, 4));
    a.window_strides.push_back(g.random.chance(60) ? 1 : g.random.between(1, 3));
    a.base_dilations.push_back(g.random.chance(85) ? 1 : 2);
    a.window_dilations.push_back(g.random.chance(85) ? 1 : 2);
    a.padding.push_back({g.random.chance(60) ? 0 : g.random.between(-1, 3),
                         g.random.chance(60) ? 0 : g.random.between(-1, 3)});
  }
  if (cumulative && g.random.chance(50)) {
    a.window_strides.assign(static_cast<size_t>(x->type.rank()), 1);
  }
  OpKind kind = combiner(g, dtype);
  Value* init = initial(g, kind, dtype);
  g.append_with_regions(OpKind::reduce_window, {x, init}, a,
                        {Type::tensor(dtype, windows(x->type.shape, a))}, 1,
                        [&](Op* op) { return fill_combiner(g, op, 0, kind, dtype); });
}

void select_and_scatter(Generator& g) {
  Value* x = with_rank(g, 1, false);
  DType dtype = x->type.dtype;
  if (dtype == DType::i1) return;
  WindowAttributes a;
  for (int64_t d = 0; d < x->type.rank(); ++d) {
    a.window_dimensions.push_back(g.random.chance(40) ? 1 : g.random.between(1, 3));
    a.window_strides.push_back(g.random.chance(50) ? 1 : g.random.between(1, 3));
    int64_t low = g.random.chance(70) ? 0 : 1;
    a.padding.push_back({low, g.random.chance(70) ? 0 : 1});
  }
  Value* source = g.like(Type::tensor(dtype, windows(x->type.shape, a)));
  Value* init = initial(g, OpKind::add, dtype);
  CompareDirection direction = g.random.chance(80) ? CompareDirection::ge : CompareDirection::le;
  g.append_with_regions(
      OpKind::select_and_scatter, {x, source, init}, a, {x->type}, 2, [&](Op* op) {
        Region& select = op->nested(0);
        Value* p = select.add_argument(g.scalar(dtype));
        Value* q = select.add_argument(g.scalar(dtype));
        Value* chosen = g.create(select, OpKind::compare, {p, q}, {g.scalar(DType::i1)},
                                 CompareAttributes{direction, CompareType::unspecified})
                            ->result();
        g.create(select, OpKind::return_, {chosen}, {});
        return fill_combiner(g, op, 1, OpKind::add, dtype);
      });
}

void sort(Generator& g) {
  Value* key = with_rank(g, 1, false);
  std::vector<Value*> operands = {key};
  for (int64_t i = g.random.between(0, 2); i > 0; --i) {
    Value* other = g.pick([&](const Type& t) { return t.shape == key->type.shape; });
    if (other) operands.push_back(other);
  }
  SortAttributes a;
  a.dimension = g.random.between(0, key->type.rank() - 1);
  a.is_stable = true;
  CompareDirection direction = g.random.chance(60) ? CompareDirection::lt : CompareDirection::gt;
  DType dtype = key->type.dtype;
  CompareType order = CompareType::unspecified;
  if (is_float(dtype))
    order = g.random.chance(50) ? CompareType::totalorder : CompareType::floating;
  std::vector<Type> types;
  for (Value* operand : operands) types.push_back(operand->type);
  g.append_with_regions(OpKind::sort, operands, a, types, 1, [&](Op* op) {
    Region& r = op->nested();
    for (Value* operand : operands) {
      r.add_argument(g.scalar(operand->type.dtype));
      r.add_argument(g.scalar(operand->type.dtype));
    }
    Value* before = g.create(r, OpKind::compare, {r.argument(0), r.argument(1)},
                             {g.scalar(DType::i1)}, CompareAttributes{direction, order})
                        ->result();
    g.create(r, OpKind::return_, {before}, {});
    return true;
  });
}

void top_k(Generator& g) {
  Value* x = with_rank(g, 1, false);
  if (x->type.dtype == DType::i1 || x->type.shape.back() == 0) return;
  TopKAttributes a;
  a.k = g.random.between(1, x->type.shape.back());
  g.append(OpKind::chlo_top_k, {x}, a);
}

const Maker kMakers[] = {
    {"reduce", 12, reduce},
    {"reduce_two", 2, reduce_two},
    {"reduce_window", 4, reduce_window},
    {"select_and_scatter", 2, select_and_scatter},
    {"sort", 3, sort},
    {"top_k", 1, top_k},
};

}  // namespace

std::span<const Maker> reduction_makers() {
  return kMakers;
}

}  // namespace ullage::random_programs
