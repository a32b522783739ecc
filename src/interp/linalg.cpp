// Matrix products. Operands are widened once, laid out as [batch, rows, contracted] and [batch,
// contracted, columns], multiplied by a plain triple loop and rounded once to the result type.
#include <fmt/format.h>

#include <algorithm>
#include <complex>

#include "interp/eval.h"
#include "interp/index_space.h"
#include "interp/lanes.h"

namespace ullage::interp {

namespace {

// All elements of a tensor in the given order of dimensions, as doubles, 64-bit integers or complex
// numbers.
template <typename T>
std::vector<T> widen(const Tensor& tensor, const Dims& order) {
  std::vector<int64_t> shape;
  Index strides, own = row_major_strides(tensor.shape());
  for (int64_t d : order) {
    shape.push_back(tensor.shape()[static_cast<size_t>(d)]);
    strides.push_back(own[static_cast<size_t>(d)]);
  }
  Tensor ordered(Type::tensor(tensor.dtype(), shape));
  auto width = static_cast<size_t>(storage_bytes(tensor.dtype()));
  copy_box(width, shape, tensor.data(), strides, ordered.mutable_data(), row_major_strides(shape));
  std::vector<T> out(static_cast<size_t>(ordered.num_elements()));
  Lanes lanes;
  LaneClass cls = lane_class(tensor.dtype());
  for (size_t at = 0; at < out.size(); at += kLanes) {
    size_t n = std::min(out.size() - at, kLanes);
    load(tensor.dtype(), ordered.data() + at * width, n, lanes);
    for (size_t k = 0; k < n; ++k) {
      if constexpr (std::is_same_v<T, std::complex<double>>)
        out[at + k] =
            cls == LaneClass::complex
                ? lanes.c[k]
                : std::complex<double>(cls == LaneClass::real ? lanes.f[k]
                                                              : static_cast<double>(lanes.i[k]));
      else if constexpr (std::is_same_v<T, double>)
        out[at + k] = cls == LaneClass::real      ? lanes.f[k]
                      : cls == LaneClass::signed_ ? static_cast<double>(lanes.i[k])
                                                  : static_cast<double>(lanes.u[k]);
      else
        out[at + k] = lanes.u[k];
    }
  }
  return out;
}

// c[b, i, j] = sum over k, in order, of a[b, i, k] * b[b, k, j].
template <typename T>
std::vector<T> multiply(const std::vector<T>& a, const std::vector<T>& b, int64_t batch,
                        int64_t rows, int64_t inner, int64_t columns) {
  std::vector<T> c(static_cast<size_t>(batch * rows * columns), T{});
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t i = 0; i < rows; ++i) {
      T* out = c.data() + (n * rows + i) * columns;
      for (int64_t k = 0; k < inner; ++k) {
        T x = a[static_cast<size_t>((n * rows + i) * inner + k)];
        const T* row = b.data() + (n * inner + k) * columns;
        for (int64_t j = 0; j < columns; ++j) {
          if constexpr (std::is_same_v<T, std::complex<double>>)
            out[j] += T(x.real() * row[j].real() - x.imag() * row[j].imag(),
                        x.real() * row[j].imag() + x.imag() * row[j].real());
          else
            out[j] += x * row[j];
        }
      }
    }
  }
  return c;
}

template <typename T>
void narrow(const std::vector<T>& values, Tensor& out) {
  int64_t width = storage_bytes(out.dtype());
  std::byte* to = out.mutable_data();
  LaneClass cls = lane_class(out.dtype());
  Lanes lanes;
  for (size_t at = 0; at < values.size(); at += kLanes) {
    size_t n = std::min(values.size() - at, kLanes);
    for (size_t k = 0; k < n; ++k) {
      if constexpr (std::is_same_v<T, std::complex<double>>) {
        if (cls == LaneClass::complex)
          lanes.c[k] = values[at + k];
        else
          lanes.f[k] = values[at + k].real();
      } else if constexpr (std::is_same_v<T, double>) {
        if (cls == LaneClass::real)
          lanes.f[k] = values[at + k];
        else
          lanes.i[k] = static_cast<int64_t>(values[at + k]);
      } else {
        if (cls == LaneClass::real)
          lanes.f[k] = odd_from(static_cast<int64_t>(values[at + k]));
        else
          lanes.u[k] = values[at + k];
      }
    }
    store(out.dtype(), lanes, n, to + static_cast<int64_t>(at) * width);
  }
}

struct Product {
  Dims lhs_order, rhs_order;
  int64_t batch = 1, rows = 1, inner = 1, columns = 1;
};

template <typename T>
Tensor product(const Tensor& lhs, const Tensor& rhs, const Product& p, const Type& result) {
  Tensor out(result);
  narrow(multiply(widen<T>(lhs, p.lhs_order), widen<T>(rhs, p.rhs_order), p.batch, p.rows, p.inner,
                  p.columns),
         out);
  return out;
}

Tensor dot_general(const Tensor& lhs, const Tensor& rhs, const DotAttributes& a,
                   const Type& result) {
  Product p;
  auto free_dims = [](const Tensor& t, const Dims& batching, const Dims& contracting) {
    Dims out;
    for (int64_t d = 0; d < t.rank(); ++d)
      if (std::find(batching.begin(), batching.end(), d) == batching.end() &&
          std::find(contracting.begin(), contracting.end(), d) == contracting.end())
        out.push_back(d);
    return out;
  };
  Dims lhs_free = free_dims(lhs, a.lhs_batching, a.lhs_contracting),
       rhs_free = free_dims(rhs, a.rhs_batching, a.rhs_contracting);
  auto append = [](Dims& to, const Dims& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(p.lhs_order, a.lhs_batching);
  append(p.lhs_order, lhs_free);
  append(p.lhs_order, a.lhs_contracting);
  append(p.rhs_order, a.rhs_batching);
  append(p.rhs_order, a.rhs_contracting);
  append(p.rhs_order, rhs_free);
  for (int64_t d : a.lhs_batching) p.batch *= lhs.shape()[static_cast<size_t>(d)];
  for (int64_t d : lhs_free) p.rows *= lhs.shape()[static_cast<size_t>(d)];
  for (int64_t d : a.lhs_contracting) p.inner *= lhs.shape()[static_cast<size_t>(d)];
  for (int64_t d : rhs_free) p.columns *= rhs.shape()[static_cast<size_t>(d)];
  if (is_complex(lhs.dtype()) || is_complex(rhs.dtype()))
    return product<std::complex<double>>(lhs, rhs, p, result);
  if (is_float(lhs.dtype()) || is_float(rhs.dtype())) return product<double>(lhs, rhs, p, result);
  if (lhs.dtype() == DType::i1) {  // or of ands
    Tensor out = product<uint64_t>(lhs, rhs, p, Type::tensor(DType::ui64, result.shape));
    Tensor bits(result);
    for (int64_t k = 0; k < out.num_elements(); ++k)
      bits.mutable_data()[k] = static_cast<std::byte>(out.as<uint64_t>()[k] != 0);
    return bits;
  }
  return product<uint64_t>(lhs, rhs, p, result);
}

Result<Tensors> evaluate_dot_general(Evaluation& e) {
  return Tensors{dot_general(e.operands[0], e.operands[1], e.op.as<DotAttributes>(), e.types[0])};
}

Result<Tensors> evaluate_dot(Evaluation& e) {
  DotAttributes a;
  a.lhs_contracting = {e.operands[0].rank() - 1};
  a.rhs_contracting = {0};
  return Tensors{dot_general(e.operands[0], e.operands[1], a, e.types[0])};
}

constexpr HandlerRow kRows[] = {
    {OpKind::dot_general, evaluate_dot_general},
    {OpKind::dot, evaluate_dot},
};

}  // namespace

std::span<const HandlerRow> linalg_handlers() {
  return kRows;
}

}  // namespace ullage::interp
