// Operations that move elements by shapes and attributes.
#include <algorithm>

#include "random/makers.h"

namespace ullage::random_programs {

namespace {

Value* with_rank(Generator& g, int64_t least) {
  auto wanted = [&](const Type& t) { return t.rank() >= least; };
  if (Value* value = g.pick(wanted)) return value;
  return g.fresh(Type::tensor(g.dtype(), g.shape(least)));
}

void broadcast_in_dim(Generator& g) {
  Value* x = g.pick([](const Type& t) { return t.rank() <= 4; });
  if (!x) return;
  std::vector<int64_t> to = g.shape(x->type.rank());
  Dims dims;
  for (int64_t d = 0; d < static_cast<int64_t>(to.size()); ++d) dims.push_back(d);
  while (static_cast<int64_t>(dims.size()) > x->type.rank())
    dims.erase(dims.begin() + g.random.below(static_cast<int64_t>(dims.size())));
  if (g.random.chance(10)) g.random.shuffle(dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t extent = x->type.shape[i];
    if (extent != 1 || g.random.chance(30)) to[static_cast<size_t>(dims[i])] = extent;
  }
  g.append(OpKind::broadcast_in_dim, {x}, DimsAttributes{dims, {}, {}},
           {Type::tensor(x->type.dtype, to)});
}

void reshape(Generator& g) {
  Value* x = with_rank(g, 0);
  std::vector<int64_t> shape = x->type.shape;
  for (int64_t times = g.random.between(1, 3); times > 0; --times) {
    auto rank = static_cast<int64_t>(shape.size());
    switch (g.random.below(3)) {
      case 0:
        if (rank < 5) shape.insert(shape.begin() + g.random.below(rank + 1), 1);
        break;
      case 1:  // two dimensions become one
        if (rank >= 2) {
          auto d = static_cast<size_t>(g.random.below(rank - 1));
          shape[d] *= shape[d + 1];
          shape.erase(shape.begin() + static_cast<int64_t>(d) + 1);
        }
        break;
      default:  // one becomes two
        if (rank >= 1 && rank < 5) {
          auto d = static_cast<size_t>(g.random.below(rank));
          for (int64_t factor : {2, 3, 4, 5, 8})
            if (shape[d] > factor && shape[d] % factor == 0 && g.random.chance(60)) {
              shape[d] /= factor;
              shape.insert(shape.begin() + static_cast<int64_t>(d) + g.random.below(2), factor);
              break;
            }
        }
    }
  }
  g.append(OpKind::reshape, {x}, {}, {Type::tensor(x->type.dtype, shape)});
}

void transpose(Generator& g) {
  Value* x = with_rank(g, 2);
  Dims dims;
  for (int64_t d = 0; d < x->type.rank(); ++d) dims.push_back(d);
  g.random.shuffle(dims);
  g.append(OpKind::transpose, {x}, DimsAttributes{dims, {}, {}});
}

void slice(Generator& g) {
  Value* x = with_rank(g, 1);
  SliceAttributes attributes;
  for (int64_t extent : x->type.shape) {
    bool whole = g.random.chance(40);
    int64_t start = whole ? 0 : g.random.between(0, extent / 2);
    int64_t limit =
        whole ? extent
              : g.random.between(std::min(start + (g.random.chance(95) ? 1 : 0), extent), extent);
    attributes.start.push_back(start);
    attributes.limit.push_back(limit);
    attributes.strides.push_back(g.random.chance(80) ? 1 : g.random.between(2, 4));
  }
  g.append(OpKind::slice, {x}, attributes);
}

void pad(Generator& g) {
  Value* x = with_rank(g, 1);
  PadAttributes attributes;
  for (int64_t d = 0; d < x->type.rank(); ++d) {
    attributes.low.push_back(g.random.chance(50) ? 0 : g.random.between(-2, 4));
    attributes.high.push_back(g.random.chance(50) ? 0 : g.random.between(-2, 4));
    attributes.interior.push_back(g.random.chance(80) ? 0 : g.random.between(1, 2));
  }
  g.append(OpKind::pad, {x, g.like(Type::tensor(x->type.dtype, {}))}, attributes);
}

void concatenate(Generator& g) {
  Value* x = with_rank(g, 1);
  auto dim = static_cast<size_t>(g.random.below(x->type.rank()));
  std::vector<Value*> parts = {x};
  for (int64_t i = g.random.between(1, 3); i > 0; --i) {
    auto fits = [&](const Type& t) {
      if (t.dtype != x->type.dtype || t.rank() != x->type.rank()) return false;
      for (size_t d = 0; d < t.shape.size(); ++d)
        if (d != dim && t.shape[d] != x->type.shape[d]) return false;
      return true;
    };
    Value* other = g.pick(fits);
    if (!other || g.random.chance(20)) {
      std::vector<int64_t> shape = x->type.shape;
      shape[dim] = g.random.between(0, 4);
      other = g.fresh(Type::tensor(x->type.dtype, shape));
    }
    parts.push_back(other);
  }
  g.append(OpKind::concatenate, parts, DimAttributes{static_cast<int64_t>(dim), 0});
}

void reverse(Generator& g) {
  Value* x = with_rank(g, 1);
  Dims dims;
  for (int64_t d = 0; d < x->type.rank(); ++d)
    if (g.random.chance(50)) dims.push_back(d);
  g.append(OpKind::reverse, {x}, DimsAttributes{dims, {}, {}});
}

void iota(Generator& g) {
  Type type = Type::tensor(g.dtype(), g.shape(1));
  if (type.dtype == DType::i1) return;
  g.append(OpKind::iota, {}, DimAttributes{g.random.below(type.rank()), 0}, {type});
}

const Maker kMakers[] = {
    {"broadcast_in_dim", 8, broadcast_in_dim},
    {"reshape", 7, reshape},
    {"transpose", 6, transpose},
    {"slice", 6, slice},
    {"pad", 4, pad},
    {"concatenate", 4, concatenate},
    {"reverse", 3, reverse},
    {"iota", 3, iota},
};

}  // namespace

std::span<const Maker> movement_makers() {
  return kMakers;
}

}  // namespace ullage::random_programs
