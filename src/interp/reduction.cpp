// reduce, reduce_window and select_and_scatter. Each result element is folded in row-major order of
// the elements that belong to it, starting with the init value; many result elements are folded
// side by side, one per lane.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "interp/eval.h"
#include "interp/index_space.h"
#include "interp/lane_program.h"

namespace ullage::interp {

namespace {

void copy_lanes(DType dtype, const Lanes& from, size_t n, Lanes& to) {
  std::memcpy(to.u, from.u, n * (lane_class(dtype) == LaneClass::complex ? 16 : 8));
}

// Lane k takes the element at offsets[k]; contiguous and evenly spaced runs are common and quicker.
void load_at(DType dtype, const std::byte* data, const int64_t* offsets, size_t n, Lanes& to) {
  int64_t width = storage_bytes(dtype);
  for (size_t at = 0; at < n;) {
    size_t end = at + 1;
    int64_t stride = end < n ? offsets[end] - offsets[at] : 1;
    while (end < n && offsets[end] - offsets[end - 1] == stride) ++end;
    if (at == 0) {
      load_strided(dtype, data + offsets[0] * width, stride, end, to);
    } else {
      Lanes part;
      load_strided(dtype, data + offsets[at] * width, stride, end - at, part);
      size_t lane = lane_class(dtype) == LaneClass::complex ? 16 : 8;
      std::memcpy(reinterpret_cast<std::byte*>(to.u) + at * lane, part.u, (end - at) * lane);
    }
    at = end;
  }
}

Result<Tensors> evaluate_reduce(Evaluation& e) {
  size_t n = e.operands.size() / 2;
  auto program = LaneProgram::compile(e, e.op.nested());
  if (!program) return program.diagnostics();
  const Dims& dims = e.op.as<DimsAttributes>().dims;
  const std::vector<int64_t>& shape = e.operands[0].shape();
  Index strides = row_major_strides(shape), kept_strides, reduced_strides;
  std::vector<int64_t> kept, reduced;
  for (size_t d = 0; d < shape.size(); ++d) {
    bool is_reduced = std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
    (is_reduced ? reduced : kept).push_back(shape[d]);
    (is_reduced ? reduced_strides : kept_strides).push_back(strides[d]);
  }
  Tensors out;
  for (size_t i = 0; i < n; ++i) out.emplace_back(e.types[i]);
  int64_t count = element_count(kept), folds = element_count(reduced);
  Index index(kept.size(), 0);
  std::vector<int64_t> bases(kLanes), offsets(kLanes);
  for (int64_t at = 0; at < count; at += static_cast<int64_t>(kLanes)) {
    auto lanes = static_cast<size_t>(std::min<int64_t>(count - at, kLanes));
    for (size_t k = 0; k < lanes; ++k) {
      bases[k] = dot(index, kept_strides);
      next_index(index, kept);
    }
    for (size_t i = 0; i < n; ++i) {
      const Tensor& init = e.operands[n + i];
      load_strided(init.dtype(), init.data(), 0, lanes, program->argument(i));
    }
    Index inner(reduced.size(), 0);
    for (int64_t fold = 0; fold < folds; ++fold) {
      int64_t offset = dot(inner, reduced_strides);
      next_index(inner, reduced);
      for (size_t k = 0; k < lanes; ++k) offsets[k] = bases[k] + offset;
      for (size_t i = 0; i < n; ++i)
        load_at(e.operands[i].dtype(), e.operands[i].data(), offsets.data(), lanes,
                program->argument(n + i));
      program->run(lanes);
      // A result may be an argument's own register or feed another accumulator: copy all before
      // overwriting any.
      if (n == 1) {
        copy_lanes(program->result_type(0), program->result(0), lanes, program->argument(0));
      } else {
        std::vector<Lanes> saved(n);
        for (size_t i = 0; i < n; ++i)
          copy_lanes(program->result_type(i), program->result(i), lanes, saved[i]);
        for (size_t i = 0; i < n; ++i)
          copy_lanes(program->result_type(i), saved[i], lanes, program->argument(i));
      }
    }
    for (size_t i = 0; i < n; ++i) {
      DType dtype = out[i].dtype();
      store(dtype, program->argument(i), lanes, out[i].mutable_data() + at * storage_bytes(dtype));
    }
  }
  return out;
}

struct Window {
  std::vector<int64_t> size, stride, base_dilation, window_dilation, low;
};

Window window_of(const WindowAttributes& a) {
  size_t rank = a.window_dimensions.size();
  auto or_ones = [&](const Dims& dims) { return dims.empty() ? Dims(rank, 1) : dims; };
  Window w{a.window_dimensions, or_ones(a.window_strides), or_ones(a.base_dilations),
           or_ones(a.window_dilations), Dims(rank, 0)};
  for (size_t d = 0; d < a.padding.size(); ++d) w.low[d] = a.padding[d].first;
  return w;
}

// Offset of the input element that window position `at` of window `window` covers, or -1 for
// padding and holes.
int64_t covered(const Window& w, const Index& window, const Index& at,
                const std::vector<int64_t>& shape, const Index& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t position = window[d] * w.stride[d] + at[d] * w.window_dilation[d] - w.low[d];
    if (position < 0 || position % w.base_dilation[d] != 0) return -1;
    position /= w.base_dilation[d];
    if (position >= shape[d]) return -1;
    offset += position * strides[d];
  }
  return offset;
}

Result<Tensors> evaluate_reduce_window(Evaluation& e) {
  size_t n = e.operands.size() / 2;
  auto program = LaneProgram::compile(e, e.op.nested());
  if (!program) return program.diagnostics();
  Window w = window_of(e.op.as<WindowAttributes>());
  const std::vector<int64_t>& shape = e.operands[0].shape();
  const std::vector<int64_t>& windows = e.types[0].shape;
  Index strides = row_major_strides(shape);
  Tensors out;
  for (size_t i = 0; i < n; ++i) out.emplace_back(e.types[i]);
  int64_t count = element_count(windows), folds = element_count(w.size);
  Index index(windows.size(), 0);
  std::vector<Index> lane_index(kLanes);
  std::vector<int64_t> offsets(kLanes);
  std::vector<Lanes> saved(n);
  for (int64_t at = 0; at < count; at += static_cast<int64_t>(kLanes)) {
    auto lanes = static_cast<size_t>(std::min<int64_t>(count - at, kLanes));
    for (size_t k = 0; k < lanes; ++k) {
      lane_index[k] = index;
      next_index(index, windows);
    }
    for (size_t i = 0; i < n; ++i)
      load_strided(e.operands[n + i].dtype(), e.operands[n + i].data(), 0, lanes,
                   program->argument(i));
    Index inner(shape.size(), 0);
    for (int64_t fold = 0; fold < folds; ++fold) {
      // Positions outside the input hold the init value: (C15)'s padded input.
      for (size_t k = 0; k < lanes; ++k)
        offsets[k] = covered(w, lane_index[k], inner, shape, strides);
      next_index(inner, w.size);
      for (size_t i = 0; i < n; ++i) {
        DType dtype = e.operands[i].dtype();
        const Tensor& init = e.operands[n + i];
        Lanes& element = program->argument(n + i);
        Lanes one;
        size_t lane = lane_class(dtype) == LaneClass::complex ? 16 : 8;
        for (size_t k = 0; k < lanes; ++k) {
          const std::byte* from = offsets[k] < 0
                                      ? init.data()
                                      : e.operands[i].data() + offsets[k] * storage_bytes(dtype);
          load(dtype, from, 1, one);
          std::memcpy(reinterpret_cast<std::byte*>(element.u) + k * lane, one.u, lane);
        }
      }
      program->run(lanes);
      for (size_t i = 0; i < n; ++i)
        copy_lanes(program->result_type(i), program->result(i), lanes, saved[i]);
      for (size_t i = 0; i < n; ++i)
        copy_lanes(program->result_type(i), saved[i], lanes, program->argument(i));
    }
    for (size_t i = 0; i < n; ++i) {
      DType dtype = out[i].dtype();
      store(dtype, program->argument(i), lanes, out[i].mutable_data() + at * storage_bytes(dtype));
    }
  }
  return out;
}

Result<Tensors> evaluate_select_and_scatter(Evaluation& e) {
  auto select = LaneProgram::compile(e, e.op.nested(0));
  if (!select) return select.diagnostics();
  auto scatter = LaneProgram::compile(e, e.op.nested(1));
  if (!scatter) return scatter.diagnostics();
  Window w = window_of(e.op.as<WindowAttributes>());
  const Tensor& operand = e.operands[0];
  const Tensor& source = e.operands[1];
  const Tensor& init = e.operands[2];
  const std::vector<int64_t>& shape = operand.shape();
  Index strides = row_major_strides(shape);
  int64_t width = storage_bytes(operand.dtype());
  Tensor out(e.types[0]);
  DType result = out.dtype();
  std::byte* data = out.mutable_data();
  Lanes lanes;
  load(init.dtype(), init.data(), 1, lanes);
  for (int64_t k = 0; k < out.num_elements(); ++k)
    store(result, lanes, 1, data + k * storage_bytes(result));
  int64_t position = 0;
  for_each_index(source.shape(), [&](const Index& window) {
    int64_t chosen = -1, from = position++;
    for_each_index(w.size, [&](const Index& at) {
      int64_t offset = covered(w, window, at, shape, strides);
      if (offset < 0) return;
      if (chosen >= 0) {
        load(operand.dtype(), operand.data() + chosen * width, 1, select->argument(0));
        load(operand.dtype(), operand.data() + offset * width, 1, select->argument(1));
        select->run(1);
        if (select->result(0).u[0]) return;
      }
      chosen = offset;
    });
    if (chosen < 0) return;  // a window of padding only selects nothing
    load(result, data + chosen * storage_bytes(result), 1, scatter->argument(0));
    load(source.dtype(), source.data() + from * width, 1, scatter->argument(1));
    scatter->run(1);
    store(result, scatter->result(0), 1, data + chosen * storage_bytes(result));
  });
  return Tensors{std::move(out)};
}

constexpr HandlerRow kRows[] = {
    {OpKind::reduce, evaluate_reduce},
    {OpKind::reduce_window, evaluate_reduce_window},
    {OpKind::select_and_scatter, evaluate_select_and_scatter},
    {OpKind::map, evaluate_map},
};

}  // namespace

std::span<const HandlerRow> reduction_handlers() {
  return kRows;
}

}  // namespace ullage::interp
