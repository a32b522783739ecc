// cholesky and triangular_solve against the interpreter; the custom calls of other decompositions
// by what defines them: the factors multiply to the matrix.
#include "library_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

constexpr DType kFields[] = {DType::f32, DType::f64, DType::c64, DType::c128};

double epsilon(DType dtype) {
  return dtype == DType::bf16                         ? 8e-3
         : dtype == DType::f16                        ? 1e-3
         : dtype == DType::f32 || dtype == DType::c64 ? 1e-6
                                                      : 1e-14;
}

// A A^H + n: Hermitian and positive definite.
Tensor positive_definite(DType dtype, int64_t batch, int64_t n) {
  DType held = storage_bytes(dtype) == 2 ? DType::f32 : dtype;
  std::vector<double> a = parts(random_tensor(held, {batch, n, n}, 11)), out;
  bool complex = is_complex(dtype);
  int64_t step = complex ? 2 : 1;
  Tensor t(Type::tensor(dtype, {batch, n, n}));
  std::byte* at = t.mutable_data();
  auto put = [&](double x) {
    if (dtype == DType::f64 || dtype == DType::c128) {
      std::memcpy(at, &x, 8);
      at += 8;
    } else if (storage_bytes(dtype) == 2) {
      float f = static_cast<float>(x);
      uint16_t bits = dtype == DType::bf16 ? float_to_bf16(f) : float_to_f16(f);
      std::memcpy(at, &bits, 2);
      at += 2;
    } else {
      float f = static_cast<float>(x);
      std::memcpy(at, &f, 4);
      at += 4;
    }
  };
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        std::complex<double> sum = i == j ? static_cast<double>(n) : 0;
        for (int64_t k = 0; k < n; ++k) {
          const double* x = &a[static_cast<size_t>(((b * n + i) * n + k) * step)];
          const double* y = &a[static_cast<size_t>(((b * n + j) * n + k) * step)];
          sum += complex ? std::complex<double>(x[0], x[1]) * std::complex<double>(y[0], -y[1])
                         : std::complex<double>(x[0] * y[0]);
        }
        put(sum.real());
        if (complex) put(sum.imag());
      }
  return t;
}

TEST(Linalg, Cholesky) {
  for (DType dtype : {DType::bf16, DType::f16, DType::f32, DType::f64, DType::c64, DType::c128})
    for (int64_t n : {0, 1, 5, 70})
      for (const char* lower : {"true", "false"}) {
        std::string type = shaped({3, n, n}, spelled(dtype));
        std::string text = "func.func public @main(%a: " + type + ") -> " + type +
                           " {\n  %0 = stablehlo.cholesky %a, lower = " + lower + " : " + type +
                           "\n  return %0 : " + type + "\n}\n";
        Tensor a = positive_definite(dtype, 3, n);
        std::vector<Tensor> got = compiled(text, {a});
        ASSERT_EQ(got.size(), 1u);
        expect_near(got[0], interpreted(text, {a})[0], 10 * epsilon(dtype), text);
        expect_same_bits(compiled(text, {a}, 3), got, text);
      }
}

TEST(Linalg, CholeskyOfSomethingElseIsNaN) {
  std::string text = R"(func.func public @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  })";
  Tensor a = Tensor::of<float>(DType::f32, {2, 2}, {1, 2, 2, 1});
  EXPECT_TRUE(std::isnan(compiled(text, {a})[0].real_at(3)));
}

TEST(Linalg, TriangularSolve) {
  for (DType dtype : {DType::bf16, DType::f32, DType::f64, DType::c64, DType::c128})
    for (bool left : {true, false})
      for (const char* lower : {"true", "false"})
        for (const char* unit : {"true", "false"})
          for (const char* transpose : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
            int64_t n = 9;
            std::string a = shaped({2, n, n}, spelled(dtype)),
                        b = left ? shaped({2, n, 4}, spelled(dtype))
                                 : shaped({2, 4, n}, spelled(dtype));
            std::string text = "func.func public @main(%a: " + a + ", %b: " + b + ") -> " + b +
                               " {\n  %0 = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = " +
                               (left ? "true" : "false") + ", lower = " + lower +
                               ", unit_diagonal = " + unit +
                               ", transpose_a = #stablehlo<transpose " + transpose + ">}> : (" + a +
                               ", " + b + ") -> " + b + "\n  return %0 : " + b + "\n}\n";
            Tensor matrix = positive_definite(dtype, 2, n);
            // A unit triangle with large elements would be badly conditioned.
            if (unit == std::string("true")) matrix = random_tensor(dtype, {2, n, n}, 4);
            Tensor right = random_tensor(
                dtype, left ? std::vector<int64_t>{2, n, 4} : std::vector<int64_t>{2, 4, n}, 5);
            expect_near(compiled(text, {matrix, right}, 2)[0],
                        interpreted(text, {matrix, right})[0], 200 * epsilon(dtype), text);
          }
}

// ---- Custom calls ----

std::string layout(int64_t matrix_rank, int64_t batch_rank) {
  std::string out;
  int64_t rank = matrix_rank + batch_rank;
  std::vector<int64_t> order;
  if (matrix_rank == 2) order = {rank - 2, rank - 1};
  if (matrix_rank == 1) order = {rank - 1};
  for (int64_t d = batch_rank; d-- > 0;) order.push_back(d);
  for (size_t i = 0; i < order.size(); ++i) out += (i ? ", " : "") + std::to_string(order[i]);
  std::string dims = std::to_string(rank);
  return "dense<" + (rank == 0 ? "" : "[" + out + "]") + "> : tensor<" + dims + "xindex>";
}

struct CallType {
  std::vector<int64_t> shape;  // without the batch
  DType dtype;
};

std::vector<Tensor> call(const std::string& target, const std::string& attributes,
                         const std::vector<CallType>& operands,
                         const std::vector<CallType>& results, const std::vector<Tensor>& inputs,
                         int64_t batch, int threads = 2) {
  auto typed = [&](const std::vector<CallType>& types, std::string& layouts) {
    std::vector<std::string> out;
    for (const CallType& t : types) {
      std::vector<int64_t> shape = {batch};
      shape.insert(shape.end(), t.shape.begin(), t.shape.end());
      out.push_back(shaped(shape, spelled(t.dtype)));
      layouts += (layouts.empty() ? "" : ", ") + layout(static_cast<int64_t>(t.shape.size()), 1);
    }
    return out;
  };
  auto joined = [](const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
    return out;
  };
  std::string operand_layouts, result_layouts;
  std::vector<std::string> in = typed(operands, operand_layouts),
                           out = typed(results, result_layouts);
  std::string arguments, names, returned;
  for (size_t i = 0; i < in.size(); ++i) {
    arguments += (i ? ", %a" : "%a") + std::to_string(i) + ": " + in[i];
    names += (i ? ", %a" : "%a") + std::to_string(i);
  }
  for (size_t i = 0; i < out.size(); ++i)
    returned += (i ? ", %r" : "%r") + (out.size() > 1 ? "#" + std::to_string(i) : std::string());
  std::string text = "func.func public @main(" + arguments + ") -> (" + joined(out) + ") {\n  %r" +
                     (out.size() > 1 ? ":" + std::to_string(out.size()) : "") +
                     " = stablehlo.custom_call @" + target + "(" + names +
                     ") {backend_config = \"\", mhlo.backend_config = {" + attributes +
                     "}, operand_layouts = [" + operand_layouts + "], result_layouts = [" +
                     result_layouts + "]} : (" + joined(in) + ") -> (" + joined(out) +
                     ")\n  return " + returned + " : " + joined(out) + "\n}\n";
  std::vector<Tensor> got = compiled(text, inputs, 1);
  expect_same_bits(compiled(text, inputs, threads), got, text);
  return got;
}

// Batches of complex matrices, whatever the elements are.
struct Matrices {
  int64_t batch, rows, columns;
  std::vector<std::complex<double>> values;
  std::complex<double>& at(int64_t b, int64_t i, int64_t j) {
    return values[static_cast<size_t>((b * rows + i) * columns + j)];
  }
};

Matrices matrices(const Tensor& t) {
  const std::vector<int64_t>& s = t.shape();
  Matrices out{s[0], s[1], s.size() > 2 ? s[2] : 1, {}};
  std::vector<double> values = parts(t);
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    size_t at = static_cast<size_t>(i);
    out.values.push_back(is_complex(t.dtype())
                             ? std::complex<double>(values[2 * at], values[2 * at + 1])
                             : std::complex<double>(values[at]));
  }
  return out;
}

Matrices times(Matrices a, Matrices b) {
  Matrices out{a.batch, a.rows, b.columns, {}};
  out.values.resize(static_cast<size_t>(a.batch * a.rows * b.columns));
  for (int64_t n = 0; n < a.batch; ++n)
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < b.columns; ++j)
        for (int64_t k = 0; k < a.columns; ++k) out.at(n, i, j) += a.at(n, i, k) * b.at(n, k, j);
  return out;
}

Matrices adjoint(Matrices a) {
  Matrices out{a.batch, a.columns, a.rows, {}};
  out.values.resize(a.values.size());
  for (int64_t n = 0; n < a.batch; ++n)
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < a.columns; ++j) out.at(n, j, i) = std::conj(a.at(n, i, j));
  return out;
}

// Elements below (or above) a diagonal are dropped.
Matrices upper(Matrices a, int64_t from = 0) {
  for (int64_t n = 0; n < a.batch; ++n)
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < a.columns; ++j)
        if (j < i + from) a.at(n, i, j) = 0;
  return a;
}

// Columns scaled by a vector per matrix.
Matrices scaled(Matrices a, Matrices by) {
  for (int64_t n = 0; n < a.batch; ++n)
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < a.columns; ++j) a.at(n, i, j) *= by.at(n, j, 0);
  return a;
}

void expect_equal(const Matrices& a, const Matrices& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.values.size(), b.values.size()) << what;
  double largest = 0;
  for (const auto& x : b.values) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < a.values.size(); ++i)
    ASSERT_LE(std::abs(a.values[i] - b.values[i]), tolerance * largest) << what << " " << i;
}

char letter(DType dtype) {
  return dtype == DType::f32 ? 's' : dtype == DType::f64 ? 'd' : dtype == DType::c64 ? 'c' : 'z';
}
DType real_of(DType dtype) {
  return dtype == DType::c64 ? DType::f32 : dtype == DType::c128 ? DType::f64 : dtype;
}
DType complex_of(DType dtype) {
  return dtype == DType::f32 ? DType::c64 : dtype == DType::f64 ? DType::c128 : dtype;
}
std::string target(DType dtype, const std::string& name) {
  return std::string("lapack_") + letter(dtype) + name + "_ffi";
}

constexpr int64_t kBatch = 3;

TEST(Lapack, QrOfTallAndWide) {
  for (DType t : kFields)
    for (auto [m, n] : {std::pair<int64_t, int64_t>{7, 4}, {4, 7}, {40, 40}, {1, 1}}) {
      int64_t k = std::min(m, n);
      Tensor a = random_tensor(t, {kBatch, m, n}, 1);
      auto packed =
          call(target(t, "geqrf"), "", {{{m, n}, t}}, {{{m, n}, t}, {{k}, t}}, {a}, kBatch);
      ASSERT_EQ(packed.size(), 2u);
      // Q of the first k columns.
      Tensor reflectors(Type::tensor(t, {kBatch, m, k}));
      int64_t width = storage_bytes(t);
      for (int64_t row = 0; row < kBatch * m; ++row)
        std::memcpy(reflectors.mutable_data() + row * k * width, packed[0].data() + row * n * width,
                    static_cast<size_t>(k * width));
      auto q = call(target(t, is_complex(t) ? "ungqr" : "orgqr"), "", {{{m, k}, t}, {{k}, t}},
                    {{{m, k}, t}}, {reflectors, packed[1]}, kBatch);
      Matrices r = upper(matrices(packed[0])), first{kBatch, k, n, {}};
      first.values.resize(static_cast<size_t>(kBatch * k * n));
      for (int64_t b = 0; b < kBatch; ++b)
        for (int64_t i = 0; i < k; ++i)
          for (int64_t j = 0; j < n; ++j) first.at(b, i, j) = r.at(b, i, j);
      expect_equal(times(matrices(q[0]), first), matrices(a), 50 * epsilon(t), "QR");
      // The product of the reflectors with a matrix, adjoint: Q^H A = R.
      auto applied = call(target(t, is_complex(t) ? "unmqr" : "ormqr"),
                          "left = true, transpose = true", {{{m, k}, t}, {{k}, t}, {{m, n}, t}},
                          {{{m, n}, t}}, {reflectors, packed[1], a}, kBatch);
      if (m >= n)
        expect_equal(matrices(applied[0]), upper(matrices(applied[0])), 50 * epsilon(t), "R");
    }
}

TEST(Lapack, Lu) {
  for (DType t : kFields)
    for (auto [m, n] : {std::pair<int64_t, int64_t>{6, 6}, {9, 4}, {4, 9}}) {
      int64_t k = std::min(m, n);
      Tensor a = random_tensor(t, {kBatch, m, n}, 2);
      auto got = call(target(t, "getrf"), "", {{{m, n}, t}},
                      {{{m, n}, t}, {{k}, DType::i32}, {{}, DType::i32}}, {a}, kBatch);
      ASSERT_EQ(got.size(), 3u);
      Matrices packed = matrices(got[0]), l{kBatch, m, k, {}}, u{kBatch, k, n, {}},
               want = matrices(a);
      l.values.resize(static_cast<size_t>(kBatch * m * k));
      u.values.resize(static_cast<size_t>(kBatch * k * n));
      for (int64_t b = 0; b < kBatch; ++b) {
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < k; ++j)
            l.at(b, i, j) = i == j ? 1 : i > j ? packed.at(b, i, j) : 0;
        for (int64_t i = 0; i < k; ++i)
          for (int64_t j = i; j < n; ++j) u.at(b, i, j) = packed.at(b, i, j);
        for (int64_t i = 0; i < k; ++i) {
          int64_t with = got[1].int_at(b * k + i) - 1;
          for (int64_t j = 0; j < n; ++j) std::swap(want.at(b, i, j), want.at(b, with, j));
        }
        EXPECT_EQ(got[2].int_at(b), 0);
      }
      expect_equal(times(l, u), want, 50 * epsilon(t), "LU");
    }
}

TEST(Lapack, SingularValues) {
  for (DType t : kFields)
    for (const char* routine : {"gesdd", "gesvd"})
      for (auto [m, n] : {std::pair<int64_t, int64_t>{8, 5}, {5, 8}, {60, 30}, {30, 90}}) {
        int64_t k = std::min(m, n);
        Tensor a = random_tensor(t, {kBatch, m, n}, 3);
        for (int mode : {83, 65}) {
          int64_t columns = mode == 83 ? k : m, rows = mode == 83 ? k : n;
          auto got = call(
              target(t, routine), "mode = " + std::to_string(mode) + " : ui8", {{{m, n}, t}},
              {{{m, n}, t}, {{k}, real_of(t)}, {{m, columns}, t}, {{rows, n}, t}, {{}, DType::i32}},
              {a}, kBatch);
          ASSERT_EQ(got.size(), 5u);
          Matrices u = matrices(got[2]), vt = matrices(got[3]), thin{kBatch, m, k, {}},
                   flat{kBatch, k, n, {}};
          for (int64_t b = 0; b < kBatch; ++b) {
            for (int64_t i = 0; i < m; ++i)
              for (int64_t j = 0; j < k; ++j) thin.values.push_back(u.at(b, i, j));
            for (int64_t i = 0; i < k; ++i)
              for (int64_t j = 0; j < n; ++j) flat.values.push_back(vt.at(b, i, j));
          }
          expect_equal(times(scaled(thin, matrices(got[1])), flat), matrices(a), 100 * epsilon(t),
                       routine);
        }
        auto only =
            call(target(t, routine), "mode = 78 : ui8", {{{m, n}, t}},
                 {{{m, n}, t}, {{k}, real_of(t)}, {{m, m}, t}, {{n, n}, t}, {{}, DType::i32}}, {a},
                 kBatch);
        EXPECT_GT(only[1].real_at(0), 0);
      }
}

TEST(Lapack, SymmetricEigenvalues) {
  for (DType t : kFields)
    for (int uplo : {76, 85})
      for (int64_t n : {1, 6, 50}) {
        Tensor a = positive_definite(t, kBatch, n);
        auto got = call(target(t, is_complex(t) ? "heevd" : "syevd"),
                        "mode = 86 : ui8, uplo = " + std::to_string(uplo) + " : ui8", {{{n, n}, t}},
                        {{{n, n}, t}, {{n}, real_of(t)}, {{}, DType::i32}}, {a}, kBatch);
        ASSERT_EQ(got.size(), 3u);
        Matrices v = matrices(got[0]);
        expect_equal(times(scaled(v, matrices(got[1])), adjoint(v)), matrices(a), 100 * epsilon(t),
                     "syevd");
      }
}

TEST(Lapack, GeneralEigenvalues) {
  for (DType t : kFields)
    for (int64_t n : {1, 7, 20}) {
      Tensor a = random_tensor(t, {kBatch, n, n}, 5);
      DType c = complex_of(t);
      std::vector<CallType> results = {
          {{n}, t}, {{n}, t}, {{n, n}, c}, {{n, n}, c}, {{}, DType::i32}};
      if (is_complex(t)) results.erase(results.begin());
      auto got = call(target(t, "geev"), "compute_left = 86 : ui8, compute_right = 86 : ui8",
                      {{{n, n}, t}}, results, {a}, kBatch);
      ASSERT_EQ(got.size(), results.size());
      Matrices w = matrices(got[0]), right = matrices(got[results.size() - 2]),
               left = matrices(got[results.size() - 3]);
      if (!is_complex(t)) {
        Matrices imaginary = matrices(got[1]);
        for (size_t i = 0; i < w.values.size(); ++i)
          w.values[i] += std::complex<double>(0, imaginary.values[i].real());
      }
      expect_equal(times(matrices(a), right), scaled(right, w), 200 * epsilon(t), "right");
      Matrices conjugate = w;
      for (auto& x : conjugate.values) x = std::conj(x);
      expect_equal(times(adjoint(matrices(a)), left), scaled(left, conjugate), 200 * epsilon(t),
                   "left");
    }
}

TEST(Lapack, SchurHessenbergTridiagonal) {
  for (DType t : kFields) {
    int64_t n = 12;
    Tensor a = random_tensor(t, {kBatch, n, n}, 6);
    std::vector<CallType> results = {{{n, n}, t}, {{n, n}, t},      {{n}, t},
                                     {{n}, t},    {{}, DType::i32}, {{}, DType::i32}};
    if (is_complex(t)) results.erase(results.begin() + 2);
    auto schur = call(target(t, "gees"), "mode = 86 : ui8, sort = 78 : ui8", {{{n, n}, t}}, results,
                      {a}, kBatch);
    ASSERT_EQ(schur.size(), results.size());
    Matrices v = matrices(schur[1]);
    expect_equal(times(times(v, matrices(schur[0])), adjoint(v)), matrices(a), 200 * epsilon(t),
                 "gees");

    auto reduced = call(target(t, "gehrd"), "high = 12 : i32, low = 1 : i32", {{{n, n}, t}},
                        {{{n, n}, t}, {{n - 1}, t}, {{}, DType::i32}}, {a}, kBatch);
    ASSERT_EQ(reduced.size(), 3u);
    // The trace stays.
    Matrices h = matrices(reduced[0]), whole = matrices(a);
    for (int64_t b = 0; b < kBatch; ++b) {
      std::complex<double> before = 0, after = 0;
      for (int64_t i = 0; i < n; ++i) before += whole.at(b, i, i), after += h.at(b, i, i);
      EXPECT_LE(std::abs(before - after), 200 * epsilon(t));
    }

    Tensor s = positive_definite(t, kBatch, n);
    DType r = real_of(t);
    auto tridiagonal =
        call(target(t, is_complex(t) ? "hetrd" : "sytrd"), "uplo = 76 : ui8", {{{n, n}, t}},
             {{{n, n}, t}, {{n}, r}, {{n - 1}, r}, {{n - 1}, t}, {{}, DType::i32}}, {s}, kBatch);
    ASSERT_EQ(tridiagonal.size(), 5u);
    Matrices symmetric = matrices(s), diagonal = matrices(tridiagonal[1]),
             beside = matrices(tridiagonal[2]);
    for (int64_t b = 0; b < kBatch; ++b) {  // neither does the sum of squares change
      double before = 0, after = 0;
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) before += std::norm(symmetric.at(b, i, j));
        after += std::norm(diagonal.at(b, i, 0));
        if (i + 1 < n) after += 2 * std::norm(beside.at(b, i, 0));
      }
      EXPECT_NEAR(before, after, 200 * epsilon(t) * before);
    }
  }
}

TEST(Lapack, TridiagonalSolveAndPivotedQr) {
  for (DType t : kFields) {
    int64_t n = 9;
    Tensor lower = random_tensor(t, {kBatch, n}, 7), diagonal = random_tensor(t, {kBatch, n}, 8),
           above = random_tensor(t, {kBatch, n}, 9), b = random_tensor(t, {kBatch, n, 2}, 10);
    auto got = call(target(t, "gtsv"), "", {{{n}, t}, {{n}, t}, {{n}, t}, {{n, 2}, t}},
                    {{{n}, t}, {{n}, t}, {{n}, t}, {{n, 2}, t}, {{}, DType::i32}},
                    {lower, diagonal, above, b}, kBatch);
    ASSERT_EQ(got.size(), 5u);
    Matrices whole{kBatch, n, n, {}}, l = matrices(lower), d = matrices(diagonal),
                                      u = matrices(above);
    whole.values.resize(static_cast<size_t>(kBatch * n * n));
    for (int64_t k = 0; k < kBatch; ++k)
      for (int64_t i = 0; i < n; ++i) {
        whole.at(k, i, i) = d.at(k, i, 0);
        if (i > 0) whole.at(k, i, i - 1) = l.at(k, i, 0);
        if (i + 1 < n) whole.at(k, i, i + 1) = u.at(k, i, 0);
      }
    expect_equal(times(whole, matrices(got[3])), matrices(b), 2000 * epsilon(t), "gtsv");

    Tensor a = random_tensor(t, {kBatch, n, n}, 12), free(Type::tensor(DType::i32, {kBatch, n}));
    auto qr = call(target(t, "geqp3"), "", {{{n, n}, t}, {{n}, DType::i32}},
                   {{{n, n}, t}, {{n}, DType::i32}, {{n}, t}}, {a, free}, kBatch);
    ASSERT_EQ(qr.size(), 3u);
    auto q = call(target(t, is_complex(t) ? "ungqr" : "orgqr"), "", {{{n, n}, t}, {{n}, t}},
                  {{{n, n}, t}}, {qr[0], qr[2]}, kBatch);
    Matrices want = matrices(a), picked = want;
    for (int64_t k = 0; k < kBatch; ++k)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < n; ++i)
          picked.at(k, i, j) = want.at(k, i, qr[1].int_at(k * n + j) - 1);
    expect_equal(times(matrices(q[0]), upper(matrices(qr[0]))), picked, 100 * epsilon(t), "geqp3");
  }
}

TEST(Lapack, TriangularSolve) {
  for (DType t : kFields) {
    int64_t n = 8;
    Tensor a = positive_definite(t, kBatch, n), b = random_tensor(t, {kBatch, 3, n}, 13);
    auto got = call(target(t, "trsm"),
                    "diag = 78 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8",
                    {{{n, n}, t}, {{3, n}, t}}, {{{3, n}, t}}, {a, b}, kBatch);
    Matrices u = upper(matrices(a)), transposed = adjoint(u);
    for (auto& x : transposed.values) x = std::conj(x);
    expect_equal(times(matrices(got[0]), transposed), matrices(b), 50 * epsilon(t), "trsm");
  }
}

TEST(Lapack, OtherLayoutsAreRefused) {
  std::unique_ptr<Module> module = read_program(R"(
    func.func public @main(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>) {
      %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
      return %0#0, %0#1 : tensor<4x4xf32>, tensor<i32>
    })");
  EXPECT_TRUE(normalize(*module).ok());
  Result<KernelGraph> built = build_kernels(*module, *module->entry(), cpu_target(1));
  ASSERT_FALSE(built.ok());
  EXPECT_NE(to_string(built.diagnostics()).find("column-major"), std::string::npos);
}

}  // namespace
}  // namespace ullage
