// sort and top_k.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "interp/eval.h"
#include "interp/index_space.h"
#include "interp/lane_program.h"

namespace ullage::interp {

namespace {

// A stable merge sort: it stays in bounds and ends even when the comparator is not a strict weak
// order, as happens with NaNs. less(a, b) compares two positions.
template <typename Less>
void merge_sort(std::vector<int64_t>& order, Less less) {
  std::vector<int64_t> buffer(order.size());
  for (size_t width = 1; width < order.size(); width *= 2) {
    for (size_t begin = 0; begin < order.size(); begin += 2 * width) {
      size_t middle = std::min(begin + width, order.size()),
             end = std::min(begin + 2 * width, order.size());
      size_t a = begin, b = middle;
      for (size_t to = begin; to < end; ++to)
        buffer[to] = b < end && (a == middle || less(order[b], order[a])) ? order[b++] : order[a++];
    }
    order.swap(buffer);
  }
}

// The lines of `shape` along `dim`: f(offset of the first element), elements `stride` apart.
template <typename F>
void for_each_line(std::vector<int64_t> shape, size_t dim, F f) {
  Index strides = row_major_strides(shape);
  if (element_count(shape) == 0) return;
  shape[dim] = 1;
  for_each_index(shape, [&](const Index& index) { f(dot(index, strides)); });
}

Result<Tensors> evaluate_sort(Evaluation& e) {
  auto program = LaneProgram::compile(e, e.op.nested());
  if (!program) return program.diagnostics();
  const std::vector<int64_t>& shape = e.operands[0].shape();
  int64_t dim = e.op.as<SortAttributes>().dimension;
  if (dim < 0) dim += static_cast<int64_t>(shape.size());
  auto axis = static_cast<size_t>(dim);
  int64_t extent = shape[axis], stride = row_major_strides(shape)[axis];
  Tensors out;
  for (const Type& type : e.types) out.emplace_back(type);
  std::vector<std::byte*> data;
  for (Tensor& t : out) data.push_back(t.mutable_data());
  std::vector<int64_t> order(static_cast<size_t>(extent));
  for_each_line(shape, axis, [&](int64_t base) {
    std::iota(order.begin(), order.end(), 0);
    merge_sort(order, [&](int64_t a, int64_t b) {
      for (size_t i = 0; i < e.operands.size(); ++i) {
        DType dtype = e.operands[i].dtype();
        int64_t width = storage_bytes(dtype);
        load(dtype, e.operands[i].data() + (base + a * stride) * width, 1,
             program->argument(2 * i));
        load(dtype, e.operands[i].data() + (base + b * stride) * width, 1,
             program->argument(2 * i + 1));
      }
      program->run(1);
      return program->result(0).u[0] != 0;
    });
    for (size_t i = 0; i < out.size(); ++i) {
      int64_t width = storage_bytes(out[i].dtype());
      for (int64_t k = 0; k < extent; ++k)
        std::memcpy(data[i] + (base + k * stride) * width,
                    e.operands[i].data() + (base + order[static_cast<size_t>(k)] * stride) * width,
                    static_cast<size_t>(width));
    }
  });
  return out;
}

// The k largest of each last dimension in descending order; equal elements keep theirs. NaN counts
// as largest.
Result<Tensors> evaluate_top_k(Evaluation& e) {
  const auto& a = e.op.as<TopKAttributes>();
  const Tensor& operand = e.operands[0];
  int64_t extent = operand.shape().back(), width = storage_bytes(operand.dtype());
  Tensor values(e.types[0]), positions(e.types[1]);
  std::byte* to = values.mutable_data();
  auto* indices = reinterpret_cast<int32_t*>(positions.mutable_data());
  bool real = lane_class(operand.dtype()) == LaneClass::real;
  bool is_signed = lane_class(operand.dtype()) == LaneClass::signed_;
  std::vector<int64_t> order(static_cast<size_t>(extent)), keys(order.size());
  int64_t line = 0;
  for_each_line(operand.shape(), operand.shape().size() - 1, [&](int64_t base) {
    std::iota(order.begin(), order.end(), 0);
    for (int64_t k = 0; k < extent; ++k) {
      Lanes lanes;
      load(operand.dtype(), operand.data() + (base + k) * width, 1, lanes);
      int64_t bits = lanes.i[0];
      // One integer order for all classes; floats by IEEE 754 totalOrder, so NaN is above infinity.
      if (real && bits < 0)
        bits ^= INT64_MAX;
      else if (!real && !is_signed)
        bits = static_cast<int64_t>(lanes.u[0] ^ (uint64_t{1} << 63));
      keys[static_cast<size_t>(k)] = bits;
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
      int64_t kx = keys[static_cast<size_t>(x)], ky = keys[static_cast<size_t>(y)];
      return a.largest ? kx > ky : kx < ky;
    });
    for (int64_t k = 0; k < a.k; ++k) {
      std::memcpy(to + (line * a.k + k) * width,
                  operand.data() + (base + order[static_cast<size_t>(k)]) * width,
                  static_cast<size_t>(width));
      indices[line * a.k + k] = static_cast<int32_t>(order[static_cast<size_t>(k)]);
    }
    ++line;
  });
  return Tensors{std::move(values), std::move(positions)};
}

constexpr HandlerRow kRows[] = {
    {OpKind::sort, evaluate_sort},
    {OpKind::chlo_top_k, evaluate_top_k},
};

}  // namespace

std::span<const HandlerRow> sort_handlers() {
  return kRows;
}

}  // namespace ullage::interp
