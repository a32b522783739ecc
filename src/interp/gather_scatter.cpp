// gather and scatter, index by index as the specification writes them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "interp/eval.h"
#include "interp/index_space.h"
#include "interp/lane_program.h"
#include "ops/infer.h"

namespace ullage::interp {

namespace {

bool has(const Dims& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// The dimensions of a shape of `rank` that are not in `dims`.
Dims others(size_t rank, const Dims& dims) {
  Dims out;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    if (!has(dims, d)) out.push_back(d);
  return out;
}

// Element k of the index vector at `batch`, a position in the index tensor without its vector
// dimension.
struct IndexVectors {
  const Tensor& indices;
  int64_t vector_dim;
  Index strides;

  IndexVectors(const Tensor& indices, int64_t vector_dim)
      : indices(indices), vector_dim(vector_dim), strides(row_major_strides(indices.shape())) {}
  int64_t at(const Index& batch, int64_t k) const {
    int64_t offset = 0;
    size_t b = 0;
    for (size_t d = 0; d < strides.size(); ++d)
      offset += (static_cast<int64_t>(d) == vector_dim ? k : batch[b++]) * strides[d];
    int64_t value = indices.int_at(offset);
    return value < 0 && is_unsigned_int(indices.dtype()) ? INT64_MAX : value;
  }
};

// Position of dimension d of the index tensor among its batch dimensions.
size_t batch_position(int64_t d, int64_t vector_dim) {
  return static_cast<size_t>(d < vector_dim ? d : d - 1);
}

Result<Tensor> gather(Evaluation& e, const GatherAttributes& a, const Dims& slice_sizes,
                      const Type& result) {
  const Tensor& operand = e.operands[0];
  size_t rank = operand.shape().size();
  IndexVectors vectors(e.operands[1], a.index_vector_dim);
  Dims batch_dims = others(result.shape.size(), a.offset_dims);
  Dims removed = a.collapsed_slice_dims;
  removed.insert(removed.end(), a.operand_batching_dims.begin(), a.operand_batching_dims.end());
  Dims window_dims = others(rank, removed);  // operand dimension of each offset dimension
  Tensor out(result);
  Index operand_strides = row_major_strides(operand.shape()),
        result_strides = row_major_strides(result.shape);
  Dims batch_shape, window_shape;
  Index window_from, window_to;
  for (int64_t d : batch_dims) batch_shape.push_back(result.shape[static_cast<size_t>(d)]);
  for (size_t i = 0; i < window_dims.size(); ++i) {
    window_shape.push_back(slice_sizes[static_cast<size_t>(window_dims[i])]);
    window_from.push_back(operand_strides[static_cast<size_t>(window_dims[i])]);
    window_to.push_back(result_strides[static_cast<size_t>(a.offset_dims[i])]);
  }
  auto width = static_cast<int64_t>(storage_bytes(operand.dtype()));
  std::byte* to = out.mutable_data();
  if (out.num_elements() == 0) return out;
  for_each_index(batch_shape, [&](const Index& batch) {
    int64_t from_offset = 0, to_offset = 0;
    for (size_t i = 0; i < a.start_index_map.size(); ++i) {
      auto d = static_cast<size_t>(a.start_index_map[i]);
      int64_t start = vectors.at(batch, static_cast<int64_t>(i));
      from_offset +=
          std::clamp<int64_t>(start, 0, operand.shape()[d] - slice_sizes[d]) * operand_strides[d];
    }
    for (size_t i = 0; i < a.operand_batching_dims.size(); ++i)
      from_offset += batch[batch_position(a.start_indices_batching_dims[i], a.index_vector_dim)] *
                     operand_strides[static_cast<size_t>(a.operand_batching_dims[i])];
    for (size_t i = 0; i < batch.size(); ++i)
      to_offset += batch[i] * result_strides[static_cast<size_t>(batch_dims[i])];
    copy_box(static_cast<size_t>(width), window_shape, operand.data() + from_offset * width,
             window_from, to + to_offset * width, window_to);
  });
  return out;
}

Result<Tensors> evaluate_gather(Evaluation& e) {
  const auto& a = e.op.as<GatherAttributes>();
  auto out = gather(e, a, a.slice_sizes, e.types[0]);
  if (!out) return out.diagnostics();
  return Tensors{std::move(*out)};
}

Result<Tensors> evaluate_dynamic_gather(Evaluation& e) {
  const auto& a = e.op.as<GatherAttributes>();
  Dims sizes;
  for (int64_t d = 0; d < e.operands[2].num_elements(); ++d)
    sizes.push_back(e.operands[2].int_at(d));
  GatherAttributes fixed = a;
  fixed.slice_sizes = sizes;
  Type types[] = {e.operands[0].type(), e.operands[1].type()};
  auto inferred = infer_types(OpKind::gather, types, Attributes(fixed));
  if (!inferred) return inferred.diagnostics();
  auto out = gather(e, fixed, sizes, (*inferred)[0]);
  if (!out) return out.diagnostics();
  return Tensors{std::move(*out)};
}

Result<Tensors> evaluate_scatter(Evaluation& e) {
  const auto& a = e.op.as<ScatterAttributes>();
  size_t n = e.operands.size() / 2;
  auto program = LaneProgram::compile(e, e.op.nested());
  if (!program) return program.diagnostics();
  const Tensor indices = e.operands[n];
  IndexVectors vectors(indices, a.index_vector_dim);
  std::vector<int64_t> shape = e.operands[0].shape(), update_shape = e.operands[n + 1].shape();
  Dims scatter_dims = others(update_shape.size(), a.update_window_dims);
  Dims removed = a.inserted_window_dims;
  removed.insert(removed.end(), a.input_batching_dims.begin(), a.input_batching_dims.end());
  Dims window_dims = others(shape.size(), removed);
  Tensors out;
  for (size_t i = 0; i < n; ++i) {
    // The body may promote: results have its element types.
    if (e.types[i].dtype == e.operands[i].dtype()) {
      out.push_back(std::move(e.operands[i]));
    } else {
      auto converted = apply(e, OpKind::convert, {&e.operands[i]}, e.types[i]);
      if (!converted) return converted.diagnostics();
      out.push_back(std::move(*converted));
    }
  }
  std::vector<std::byte*> data;
  for (Tensor& t : out) data.push_back(t.mutable_data());
  Index strides = row_major_strides(shape);
  std::vector<int64_t> scatter_shape;
  for (int64_t d : scatter_dims) scatter_shape.push_back(update_shape[static_cast<size_t>(d)]);
  Index scatter_index(scatter_dims.size()), full(shape.size());
  int64_t position = 0;
  for_each_index(update_shape, [&](const Index& update) {
    int64_t source = position++;
    for (size_t i = 0; i < scatter_dims.size(); ++i)
      scatter_index[i] = update[static_cast<size_t>(scatter_dims[i])];
    std::fill(full.begin(), full.end(), 0);
    for (size_t i = 0; i < a.scatter_dims_to_operand_dims.size(); ++i)
      full[static_cast<size_t>(a.scatter_dims_to_operand_dims[i])] =
          vectors.at(scatter_index, static_cast<int64_t>(i));
    for (size_t i = 0; i < a.input_batching_dims.size(); ++i)
      full[static_cast<size_t>(a.input_batching_dims[i])] =
          scatter_index[batch_position(a.scatter_indices_batching_dims[i], a.index_vector_dim)];
    // A start near INT64_MAX must not wrap when the window offset is added.
    for (size_t i = 0; i < window_dims.size(); ++i) {
      int64_t& at = full[static_cast<size_t>(window_dims[i])];
      int64_t offset = update[static_cast<size_t>(a.update_window_dims[i])];
      at = at > INT64_MAX - offset ? INT64_MAX : at + offset;
    }
    // Updates that fall outside are dropped.
    for (size_t d = 0; d < shape.size(); ++d)
      if (full[d] < 0 || full[d] >= shape[d]) return;
    int64_t target = dot(full, strides);
    for (size_t i = 0; i < n; ++i) {
      DType dtype = out[i].dtype(), update_dtype = e.operands[n + 1 + i].dtype();
      load(dtype, data[i] + target * storage_bytes(dtype), 1, program->argument(i));
      load(update_dtype, e.operands[n + 1 + i].data() + source * storage_bytes(update_dtype), 1,
           program->argument(n + i));
    }
    program->run(1);
    for (size_t i = 0; i < n; ++i) {
      DType dtype = out[i].dtype();
      store(dtype, program->result(i), 1, data[i] + target * storage_bytes(dtype));
    }
  });
  return out;
}

// Slices along `dim` of the operand, [batch, before, dim, after] becoming [batch, before, selected,
// after]; indices stay inside of the operand, as those of gather do.
Result<Tensors> evaluate_index_select(Evaluation& e) {
  const auto& a = e.op.as<DimAttributes>();
  const Tensor &operand = e.operands[0], &indices = e.operands[1];
  Tensor out(e.types[0]);
  const auto dim = static_cast<size_t>(a.dim), batch = static_cast<size_t>(a.batch_dims);
  const size_t selected = indices.shape().size() - batch;
  const auto width = static_cast<size_t>(storage_bytes(operand.dtype()));
  Index from_strides = row_major_strides(operand.shape());
  Index index_strides = row_major_strides(indices.shape());
  std::byte* to = out.mutable_data();
  for_each_index(out.shape(), [&](const Index& at) {
    Index place(at.begin(), at.begin() + a.batch_dims);
    place.insert(place.end(), at.begin() + a.dim,
                 at.begin() + a.dim + static_cast<int64_t>(selected));
    int64_t chosen =
        std::clamp<int64_t>(indices.int_at(dot(place, index_strides)), 0, operand.shape()[dim] - 1);
    Index from(at.begin(), at.begin() + a.dim);
    from.push_back(chosen);
    from.insert(from.end(), at.begin() + a.dim + static_cast<int64_t>(selected), at.end());
    std::memcpy(to, operand.data() + static_cast<size_t>(dot(from, from_strides)) * width, width);
    to += width;
  });
  return Tensors{std::move(out)};
}

constexpr HandlerRow kRows[] = {
    {OpKind::torch_index_select, evaluate_index_select},
    {OpKind::gather, evaluate_gather},
    {OpKind::dynamic_gather, evaluate_dynamic_gather},
    {OpKind::scatter, evaluate_scatter},
};

}  // namespace

std::span<const HandlerRow> gather_scatter_handlers() {
  return kRows;
}

}  // namespace ullage::interp
