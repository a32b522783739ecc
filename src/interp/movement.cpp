// Data movement: elements are copied as bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "interp/eval.h"
#include "interp/index_space.h"
#include "interp/lanes.h"

namespace ullage::interp {

namespace {

template <typename T>
void copy_row(int64_t n, const std::byte* from, int64_t from_stride, std::byte* to,
              int64_t to_stride) {
  for (int64_t k = 0; k < n; ++k)
    std::memcpy(to + k * to_stride * int64_t{sizeof(T)},
                from + k * from_stride * int64_t{sizeof(T)}, sizeof(T));
}

struct Wide {
  std::byte bytes[16];
};

}  // namespace

void copy_box(size_t width, const std::vector<int64_t>& shape, const std::byte* from,
              const Index& from_strides, std::byte* to, const Index& to_strides) {
  if (element_count(shape) == 0) return;
  size_t outer = shape.empty() ? 0 : shape.size() - 1;
  int64_t n = shape.empty() ? 1 : shape.back(), in = shape.empty() ? 1 : from_strides.back(),
          out = shape.empty() ? 1 : to_strides.back();
  std::vector<int64_t> rows(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(outer));
  Index index(outer, 0);
  do {
    int64_t source = 0, target = 0;
    for (size_t d = 0; d < outer; ++d) {
      source += index[d] * from_strides[d];
      target += index[d] * to_strides[d];
    }
    const std::byte* a = from + source * static_cast<int64_t>(width);
    std::byte* b = to + target * static_cast<int64_t>(width);
    if (in == 1 && out == 1) {
      std::memcpy(b, a, static_cast<size_t>(n) * width);
    } else {
      switch (width) {
        case 1:
          copy_row<uint8_t>(n, a, in, b, out);
          break;
        case 2:
          copy_row<uint16_t>(n, a, in, b, out);
          break;
        case 4:
          copy_row<uint32_t>(n, a, in, b, out);
          break;
        case 8:
          copy_row<uint64_t>(n, a, in, b, out);
          break;
        default:
          copy_row<Wide>(n, a, in, b, out);
          break;
      }
    }
  } while (next_index(index, rows));
}

namespace {

size_t width_of(const Tensor& t) {
  return static_cast<size_t>(storage_bytes(t.dtype()));
}

// result[i] = operand[base + sum(i * strides)]
Tensor view(const Tensor& operand, const Type& result, int64_t base, const Index& strides) {
  Tensor out(result);
  if (out.num_elements() == 0) return out;  // its operand may have no address to count from
  copy_box(width_of(operand), result.shape,
           operand.data() + base * static_cast<int64_t>(width_of(operand)), strides,
           out.mutable_data(), row_major_strides(result.shape));
  return out;
}

Result<Tensors> evaluate_constant(Evaluation& e) {
  return Tensors{Tensor::from(e.op.as<ConstantAttributes>().value)};
}

Result<Tensors> evaluate_iota(Evaluation& e) {
  Tensor out(e.types[0]);
  auto dim = static_cast<size_t>(e.op.as<DimAttributes>().dim);
  DType dtype = out.dtype();
  int64_t extent = out.shape()[dim], width = storage_bytes(dtype);
  Type line = Type::tensor(dtype, {extent});
  Tensor numbers(line);
  Lanes lanes;
  for (int64_t k = 0; k < extent; ++k) {
    switch (lane_class(dtype)) {
      case LaneClass::real:
        lanes.f[0] = static_cast<double>(k);
        break;
      case LaneClass::complex:
        lanes.c[0] = static_cast<double>(k);
        break;
      default:
        lanes.i[0] = k;
    }
    store(dtype, lanes, 1, numbers.mutable_data() + k * width);
  }
  Index strides(out.shape().size(), 0);
  strides[dim] = 1;
  return Tensors{view(numbers, e.types[0], 0, strides)};
}

// Bits of an element of fewer than 8 bits are its low ones; wider elements are little endian.
Result<Tensors> evaluate_bitcast_convert(Evaluation& e) {
  const Tensor& operand = e.operands[0];
  const Type& result = e.types[0];
  int from = bit_width(operand.dtype()), to = bit_width(result.dtype);
  if (from >= 8 && to >= 8) return Tensors{operand.with_type(result)};
  Tensor out(result);
  std::byte* bytes = out.mutable_data();
  auto get_bit = [&](int64_t bit) {
    int64_t element = bit / from, within = bit % from;
    return static_cast<unsigned>(
               operand.data()[element * storage_bytes(operand.dtype()) + within / 8] >>
               (within % 8)) &
           1u;
  };
  int64_t bits = out.num_elements() * to;
  for (int64_t bit = 0; bit < bits; ++bit) {
    int64_t element = bit / to, within = bit % to;
    std::byte& target = bytes[element * storage_bytes(result.dtype) + within / 8];
    target |= static_cast<std::byte>(get_bit(bit) << (within % 8));
  }
  // Like every other operation, with the sign in the upper bits of a narrow integer's byte.
  if (to < 8 && is_signed_int(result.dtype))
    for (int64_t i = 0; i < out.num_elements(); ++i)
      if (std::to_integer<unsigned>(bytes[i]) >> (to - 1) & 1u)
        bytes[i] |= static_cast<std::byte>(0xFFu << to);
  return Tensors{std::move(out)};
}

Result<Tensors> evaluate_broadcast(Evaluation& e) {
  const Tensor& operand = e.operands[0];
  Index strides(e.types[0].shape.size() - operand.shape().size(), 0);
  for (int64_t stride : row_major_strides(operand.shape())) strides.push_back(stride);
  return Tensors{view(operand, e.types[0], 0, strides)};
}

Result<Tensors> evaluate_broadcast_in_dim(Evaluation& e) {
  const Tensor& operand = e.operands[0];
  const Dims& dims = e.op.as<DimsAttributes>().dims;
  Index strides(e.types[0].shape.size(), 0), own = row_major_strides(operand.shape());
  for (size_t d = 0; d < dims.size(); ++d)
    if (operand.shape()[d] != 1) strides[static_cast<size_t>(dims[d])] = own[d];
  return Tensors{view(operand, e.types[0], 0, strides)};
}

Result<Tensors> evaluate_concatenate(Evaluation& e) {
  Tensor out(e.types[0]);
  auto dim = static_cast<size_t>(e.op.as<DimAttributes>().dim);
  Index strides = row_major_strides(out.shape());
  std::byte* to = out.mutable_data();
  for (const Tensor& operand : e.operands) {
    if (operand.num_elements() == 0) continue;
    copy_box(width_of(operand), operand.shape(), operand.data(), row_major_strides(operand.shape()),
             to, strides);
    to += operand.shape()[dim] * strides[dim] * static_cast<int64_t>(width_of(operand));
  }
  return Tensors{std::move(out)};
}

Result<Tensors> evaluate_reshape(Evaluation& e) {
  if (e.types[0].num_elements() != e.operands[0].num_elements())
    return e.problem(fmt::format("(C2): {} has {} elements, {} has {}",
                                 to_string(e.operands[0].type()), e.operands[0].num_elements(),
                                 to_string(e.types[0]), e.types[0].num_elements()));
  return Tensors{e.operands[0].with_type(e.types[0])};
}

Result<Tensors> evaluate_reverse(Evaluation& e) {
  const Tensor& operand = e.operands[0];
  Index strides = row_major_strides(operand.shape());
  int64_t base = 0;
  for (int64_t d : e.op.as<DimsAttributes>().dims) {
    auto at = static_cast<size_t>(d);
    base += (operand.shape()[at] - 1) * strides[at];
    strides[at] = -strides[at];
  }
  return Tensors{view(operand, e.types[0], base, strides)};
}

Result<Tensors> evaluate_slice(Evaluation& e) {
  const Tensor& operand = e.operands[0];
  const auto& a = e.op.as<SliceAttributes>();
  Index strides = row_major_strides(operand.shape());
  int64_t base = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    base += a.start[d] * strides[d];
    strides[d] *= a.strides[d];
  }
  return Tensors{view(operand, e.types[0], base, strides)};
}

Result<Tensors> evaluate_transpose(Evaluation& e) {
  const Tensor& operand = e.operands[0];
  Index own = row_major_strides(operand.shape()), strides;
  for (int64_t d : e.op.as<DimsAttributes>().dims) strides.push_back(own[static_cast<size_t>(d)]);
  return Tensors{view(operand, e.types[0], 0, strides)};
}

Result<Tensors> evaluate_pad(Evaluation& e) {
  const Tensor& operand = e.operands[0];
  const auto& a = e.op.as<PadAttributes>();
  Tensor out = view(e.operands[1], e.types[0], 0, Index(e.types[0].shape.size(), 0));
  // The box of operand elements that land inside the result; edge paddings may be negative.
  size_t rank = operand.shape().size();
  Index from = row_major_strides(operand.shape()), to = row_major_strides(out.shape());
  std::vector<int64_t> box(rank);
  int64_t from_base = 0, to_base = 0;
  for (size_t d = 0; d < rank; ++d) {
    int64_t step = a.interior[d] + 1;
    int64_t first = a.low[d] >= 0 ? 0 : (-a.low[d] + step - 1) / step;
    int64_t last = out.shape()[d] - 1 - a.low[d];  // in operand positions, scaled
    last = last < 0 ? -1 : std::min(last / step, operand.shape()[d] - 1);
    box[d] = std::max<int64_t>(0, last - first + 1);
    from_base += first * from[d];
    to_base += (a.low[d] + first * step) * to[d];
    to[d] *= step;
  }
  if (element_count(box) == 0) return Tensors{std::move(out)};
  auto width = static_cast<int64_t>(width_of(operand));
  copy_box(width_of(operand), box, operand.data() + from_base * width, from,
           out.mutable_data() + to_base * width, to);
  return Tensors{std::move(out)};
}

// clamp(0, start, shape - size) per dimension, from scalar operands; in elements of `strides`.
int64_t clamped_offset(std::span<const Tensor> starts, const std::vector<int64_t>& shape,
                       const std::vector<int64_t>& sizes, const Index& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t start = starts[d].int_at(0);
    // An unsigned start beyond the range of int64 reads as negative but is large.
    if (start < 0 && is_unsigned_int(starts[d].dtype())) start = INT64_MAX;
    offset += std::max<int64_t>(0, std::min(start, shape[d] - sizes[d])) * strides[d];
  }
  return offset;
}

Result<Tensors> evaluate_dynamic_slice(Evaluation& e) {
  const Tensor& operand = e.operands[0];
  Index strides = row_major_strides(operand.shape());
  int64_t base =
      clamped_offset(std::span(e.operands).subspan(1), operand.shape(), e.types[0].shape, strides);
  return Tensors{view(operand, e.types[0], base, strides)};
}

Result<Tensors> evaluate_dynamic_update_slice(Evaluation& e) {
  const Tensor& update = e.operands[1];
  Index strides = row_major_strides(e.operands[0].shape());
  int64_t base = clamped_offset(std::span(e.operands).subspan(2), e.operands[0].shape(),
                                update.shape(), strides);
  if (update.num_elements() == 0) return Tensors{e.operands[0]};
  Tensor out = std::move(e.operands[0]);
  copy_box(width_of(update), update.shape(), update.data(), row_major_strides(update.shape()),
           out.mutable_data() + base * static_cast<int64_t>(width_of(update)), strides);
  return Tensors{std::move(out)};
}

Result<Tensors> evaluate_tuple(Evaluation& e) {
  return Tensors{Tensor::tuple(e.operands)};
}
Result<Tensors> evaluate_get_tuple_element(Evaluation& e) {
  return Tensors{e.operands[0].elements()[static_cast<size_t>(e.op.as<DimAttributes>().dim)]};
}
Result<Tensors> evaluate_identity(Evaluation& e) {
  return Tensors(std::move(e.operands));
}
Result<Tensors> evaluate_token(Evaluation&) {
  return Tensors{Tensor()};
}

constexpr HandlerRow kRows[] = {
    {OpKind::constant, evaluate_constant},
    {OpKind::iota, evaluate_iota},
    {OpKind::bitcast_convert, evaluate_bitcast_convert},
    {OpKind::broadcast, evaluate_broadcast},
    {OpKind::broadcast_in_dim, evaluate_broadcast_in_dim},
    {OpKind::concatenate, evaluate_concatenate},
    {OpKind::reshape, evaluate_reshape},
    {OpKind::reverse, evaluate_reverse},
    {OpKind::slice, evaluate_slice},
    {OpKind::transpose, evaluate_transpose},
    {OpKind::pad, evaluate_pad},
    {OpKind::dynamic_slice, evaluate_dynamic_slice},
    {OpKind::dynamic_update_slice, evaluate_dynamic_update_slice},
    {OpKind::tuple, evaluate_tuple},
    {OpKind::get_tuple_element, evaluate_get_tuple_element},
    {OpKind::optimization_barrier, evaluate_identity},
    {OpKind::sdy_sharding_constraint, evaluate_identity},
    {OpKind::after_all, evaluate_token},
    {OpKind::create_token, evaluate_token},
};

}  // namespace

std::span<const HandlerRow> movement_handlers() {
  return kRows;
}

}  // namespace ullage::interp
