// Operations that read or write at computed places.
#include <algorithm>
#include <optional>

#include "random/makers.h"

namespace ullage::random_programs {

namespace {

Value* with_rank(Generator& g, int64_t least) {
  if (Value* value = g.pick([&](const Type& t) { return t.rank() >= least; })) return value;
  return g.fresh(Type::tensor(g.dtype(), g.shape(least)));
}

// One scalar per dimension, some of them out of range.
std::vector<Value*> starts(Generator& g, const std::vector<int64_t>& shape) {
  std::vector<Value*> out;
  for (int64_t extent : shape) {
    std::optional<DType> dtype;
    if (!out.empty()) dtype = out[0]->type.dtype;
    Value* known = nullptr;
    if (g.random.chance(35))
      known = g.pick([&](const Type& t) {
        return t.rank() == 0 && is_int(t.dtype) && t.dtype == dtype.value_or(t.dtype);
      });
    out.push_back(known ? known : g.indices({}, -2, extent + 1, dtype));
  }
  return out;
}

void dynamic_slice(Generator& g) {
  Value* x = with_rank(g, 1);
  Dims sizes;
  for (int64_t extent : x->type.shape)
    sizes.push_back(g.random.chance(40) ? extent
                                        : g.random.between(std::min<int64_t>(1, extent), extent));
  std::vector<Value*> operands = {x};
  for (Value* start : starts(g, x->type.shape)) operands.push_back(start);
  g.append(OpKind::dynamic_slice, operands, DimsAttributes{sizes, {}, {}});
}

void dynamic_update_slice(Generator& g) {
  Value* x = with_rank(g, 1);
  auto fits = [&](const Type& t) {
    if (t.dtype != x->type.dtype || t.rank() != x->type.rank()) return false;
    for (size_t d = 0; d < t.shape.size(); ++d)
      if (t.shape[d] > x->type.shape[d]) return false;
    return true;
  };
  Value* update = g.pick(fits);
  if (!update || g.random.chance(50)) {
    std::vector<int64_t> sizes;
    for (int64_t extent : x->type.shape)
      sizes.push_back(g.random.chance(40) ? extent
                                          : g.random.between(std::min<int64_t>(1, extent), extent));
    update = g.fresh(Type::tensor(x->type.dtype, sizes));
  }
  std::vector<Value*> operands = {x, update};
  for (Value* start : starts(g, x->type.shape)) operands.push_back(start);
  g.append(OpKind::dynamic_update_slice, operands);
}

// The dimension numbers that gather and scatter share.
struct Places {
  Value* array = nullptr;
  Value* indices = nullptr;
  Dims sizes;      // of a slice
  Dims map;        // dimension of the array for each component of an index
  Dims collapsed;  // dimensions of extent 1 that the slice drops
  Dims array_batching, index_batching;
  int64_t index_vector_dim = 0;
  Dims window_dims;             // of the result or the updates
  std::vector<int64_t> slices;  // shape of the result or the updates
};

std::optional<Places> places(Generator& g, Value* array, bool slices_of_one) {
  Places p;
  p.array = array;
  const std::vector<int64_t>& shape = array->type.shape;
  const int64_t rank = array->type.rank();
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  g.random.shuffle(dims);
  if (rank >= 2 && g.random.chance(20)) {
    p.array_batching.push_back(dims.back());
    dims.pop_back();
  }
  auto components =
      g.random.between(g.random.chance(90) ? 1 : 0, static_cast<int64_t>(dims.size()));
  p.map.assign(dims.begin(), dims.begin() + components);
  for (int64_t d = 0; d < rank; ++d) {
    bool batching = !p.array_batching.empty() && p.array_batching[0] == d;
    bool mapped = std::find(p.map.begin(), p.map.end(), d) != p.map.end();
    int64_t extent = shape[static_cast<size_t>(d)], size = extent;
    if (batching) {
      if (extent == 0) return {};
      size = 1;
    } else if (mapped) {
      size = slices_of_one || g.random.chance(60) ? std::min<int64_t>(1, extent)
                                                  : g.random.between(0, extent);
      if (size == 1 && g.random.chance(75)) p.collapsed.push_back(d);
    } else if (g.random.chance(20)) {
      size = g.random.between(0, extent);
    }
    p.sizes.push_back(size);
  }
  std::vector<int64_t> batch;
  for (int64_t i = g.random.between(0, 2); i > 0; --i)
    batch.push_back(g.random.chance(4) ? 0 : g.random.between(1, g.random.chance(20) ? 40 : 6));
  for (int64_t d : p.array_batching) {
    int64_t at = g.random.between(0, static_cast<int64_t>(batch.size()));
    batch.insert(batch.begin() + at, shape[static_cast<size_t>(d)]);
    p.index_batching.push_back(at);
  }
  std::vector<int64_t> index_shape = batch;
  p.index_vector_dim = static_cast<int64_t>(batch.size());
  if (components != 1 || g.random.chance(70)) {
    p.index_vector_dim = g.random.between(0, static_cast<int64_t>(batch.size()));
    index_shape.insert(index_shape.begin() + p.index_vector_dim, components);
    for (int64_t& at : p.index_batching)
      if (at >= p.index_vector_dim) ++at;
  }
  std::vector<int64_t> window;
  for (int64_t d = 0; d < rank; ++d) {
    auto has = [d](const Dims& list) {
      return std::find(list.begin(), list.end(), d) != list.end();
    };
    if (!has(p.collapsed) && !has(p.array_batching))
      window.push_back(p.sizes[static_cast<size_t>(d)]);
  }
  size_t total = window.size() + batch.size();
  std::vector<int64_t> positions;
  for (size_t i = 0; i < total; ++i) positions.push_back(static_cast<int64_t>(i));
  if (g.random.chance(40)) g.random.shuffle(positions);
  if (g.random.chance(50)) std::reverse(positions.begin(), positions.end());
  p.window_dims.assign(positions.begin(), positions.begin() + static_cast<int64_t>(window.size()));
  std::sort(p.window_dims.begin(), p.window_dims.end());
  size_t w = 0, b = 0;
  int64_t elements = 1;
  for (size_t i = 0; i < total; ++i) {
    bool is_window = w < p.window_dims.size() && p.window_dims[w] == static_cast<int64_t>(i);
    p.slices.push_back(is_window ? window[w++] : batch[b++]);
    elements *= p.slices.back();
  }
  if (elements > g.most_elements()) return {};
  int64_t high = 1;
  for (int64_t d : p.map) high = std::max(high, shape[static_cast<size_t>(d)]);
  p.indices = g.indices(index_shape, -2, high + 1);
  return p;
}

void gather(Generator& g) {
  std::optional<Places> p = places(g, with_rank(g, 1), false);
  if (!p) return;
  GatherAttributes attributes;
  attributes.offset_dims = p->window_dims;
  attributes.collapsed_slice_dims = p->collapsed;
  attributes.operand_batching_dims = p->array_batching;
  attributes.start_indices_batching_dims = p->index_batching;
  attributes.start_index_map = p->map;
  attributes.index_vector_dim = p->index_vector_dim;
  attributes.slice_sizes = p->sizes;
  g.append(OpKind::gather, {p->array, p->indices}, attributes);
}

void scatter(Generator& g) {
  std::optional<Places> p = places(g, with_rank(g, 1), g.random.chance(50));
  if (!p) return;
  ScatterAttributes attributes;
  attributes.update_window_dims = p->window_dims;
  attributes.inserted_window_dims = p->collapsed;
  attributes.input_batching_dims = p->array_batching;
  attributes.scatter_indices_batching_dims = p->index_batching;
  attributes.scatter_dims_to_operand_dims = p->map;
  attributes.index_vector_dim = p->index_vector_dim;
  DType dtype = p->array->type.dtype;
  Value* updates = g.like(Type::tensor(dtype, p->slices));
  std::vector<OpKind> kinds = {OpKind::add, OpKind::add, OpKind::return_};
  if (!is_complex(dtype)) kinds.insert(kinds.end(), {OpKind::maximum, OpKind::minimum});
  if (is_int(dtype)) kinds.insert(kinds.end(), {OpKind::multiply, OpKind::and_, OpKind::subtract});
  OpKind kind = g.random.pick(kinds);
  g.append_with_regions(OpKind::scatter, {p->array, p->indices, updates}, attributes,
                        {p->array->type}, 1, [&](Op* op) {
                          Region& region = op->nested();
                          Value* a = region.add_argument(g.scalar(dtype));
                          Value* b = region.add_argument(g.scalar(dtype));
                          Value* result = b;
                          if (kind != OpKind::return_)
                            result = g.create(region, kind, {a, b}, {g.scalar(dtype)})->result();
                          g.create(region, OpKind::return_, {result}, {});
                          return true;
                        });
}

const Maker kMakers[] = {
    {"dynamic_slice", 5, dynamic_slice},
    {"dynamic_update_slice", 5, dynamic_update_slice},
    {"gather", 6, gather},
    {"scatter", 5, scatter},
};

}  // namespace

std::span<const Maker> indexing_makers() {
  return kMakers;
}

}  // namespace ullage::random_programs
