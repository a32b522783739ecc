// Decompositions and triangular solves by LAPACK, one matrix of the batch at a time on each thread.
// Matrices are copied to column-major scratch and back, but for those whose transposed problem is
// solved where they are. OpenBLAS is used serially: how a batch is shared out over threads does not
// show in the results.
#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>

#include "codegen/cpu/lapack.h"
#include "codegen/cpu/library_kernels.h"
#include "kernels/lapack_plan.h"
#include "runtime/thread_pool.h"
#include "support/check.h"
#include "support/float16.h"

namespace ullage {

namespace {

constexpr int64_t kCopyTile = 16;  // elements on a side of the squares that copies go by

// to[column * rows + row] = from[row * columns + column], or back.
template <typename From, typename To, typename Convert>
void transpose(const From* from, To* to, int64_t rows, int64_t columns, Convert convert) {
  for (int64_t r0 = 0; r0 < rows; r0 += kCopyTile)
    for (int64_t c0 = 0; c0 < columns; c0 += kCopyTile)
      for (int64_t r = r0; r < std::min(rows, r0 + kCopyTile); ++r)
        for (int64_t c = c0; c < std::min(columns, c0 + kCopyTile); ++c)
          to[c * rows + r] = convert(from[r * columns + c]);
}

template <typename F>
void with_element(DType dtype, F f) {
  switch (storage_bytes(dtype)) {
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(lapack::Z{});
  }
}

void read(const LapackPart& part, const std::byte* from, std::byte* scratch) {
  std::byte* to = scratch + part.offset;
  if (part.stored != part.held) {
    bool bf16 = part.stored == DType::bf16;
    transpose(reinterpret_cast<const uint16_t*>(from), reinterpret_cast<float*>(to), part.rows,
              part.columns,
              [bf16](uint16_t x) { return bf16 ? bf16_to_float(x) : f16_to_float(x); });
    return;
  }
  with_element(part.held, [&]<typename T>(T) {
    transpose(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), part.rows, part.columns,
              [](T x) { return x; });
  });
}

void write(const LapackPart& part, const std::byte* scratch, std::byte* to) {
  const std::byte* from = scratch + part.offset;
  if (part.stored != part.held) {
    bool bf16 = part.stored == DType::bf16;
    transpose(reinterpret_cast<const float*>(from), reinterpret_cast<uint16_t*>(to), part.columns,
              part.rows, [bf16](float x) { return bf16 ? float_to_bf16(x) : float_to_f16(x); });
    return;
  }
  with_element(part.held, [&]<typename T>(T) {
    transpose(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), part.columns, part.rows,
              [](T x) { return x; });
  });
}

// Where the operands and results of one matrix are.
struct Places {
  std::vector<std::byte*> operands, results;
};

// One matrix of type T, whose real type is R.
template <typename T, typename R>
class Matrix {
 public:
  Matrix(const LapackPlan& plan, const Places& places, std::byte* scratch)
      : plan_(plan), places_(places), scratch_(scratch) {}

  void compute() const {
    constexpr bool complex = !std::is_same_v<T, R>;
    const LapackPart& a = plan_.operands[0];
    int m = static_cast<int>(a.rows), n = static_cast<int>(a.columns);
    int lda = std::max(1, m), lwork = static_cast<int>(plan_.work);
    T* work = at<T>(plan_.work_offset);
    R* real_work = at<R>(plan_.real_work_offset);
    int* integer_work = at<int>(plan_.integer_work_offset);
    int unread = 0;
    auto info = [&](size_t result) {
      return result < plan_.results.size() ? this->result<int>(result) : &unread;
    };
    T* first = overwritten_operand(plan_.routine, 0) == 0 ? result<T>(0) : nullptr;
    switch (plan_.routine) {
      case LapackRoutine::potrf:
        lapack::potrf(plan_.uplo, n, first, lda, info(1));
        if (plan_.clear_triangle) finish_factor(first, n, *info(1) != 0);
        return;
      case LapackRoutine::trsm: {
        int rows = static_cast<int>(plan_.results[0].rows),
            columns = static_cast<int>(plan_.results[0].columns);
        if (plan_.transposed) std::swap(rows, columns);
        lapack::trsm(plan_.side, plan_.uplo, plan_.trans, plan_.diag, rows, columns, operand<T>(0),
                     lda, result<T>(0), std::max(1, rows));
        return;
      }
      case LapackRoutine::getrf:
        lapack::getrf(m, n, first, lda, result<int>(1), info(2));
        return;
      case LapackRoutine::geqrf:
        lapack::geqrf(m, n, first, lda, result<T>(1), work, lwork, &unread);
        return;
      case LapackRoutine::geqp3:
        lapack::geqp3(m, n, first, lda, result<int>(1), result<T>(2), work, lwork, real_work,
                      &unread);
        return;
      case LapackRoutine::orgqr:
        lapack::orgqr(m, n, static_cast<int>(plan_.operands[1].rows), first, lda, operand<T>(1),
                      work, lwork, &unread);
        return;
      case LapackRoutine::ormqr: {
        int rows = static_cast<int>(plan_.results[0].rows),
            columns = static_cast<int>(plan_.results[0].columns);
        lapack::ormqr(plan_.side, plan_.trans, rows, columns,
                      static_cast<int>(plan_.operands[1].rows), operand<T>(0), lda, operand<T>(1),
                      result<T>(0), std::max(1, rows), work, lwork, &unread);
        return;
      }
      case LapackRoutine::gesdd:
      case LapackRoutine::gesvd: {
        const LapackPart &u = plan_.results[2], &vt = plan_.results[3];
        int ldu = static_cast<int>(std::max<int64_t>(1, u.rows)),
            ldvt = static_cast<int>(std::max<int64_t>(1, vt.rows));
        if (plan_.routine == LapackRoutine::gesdd)
          lapack::gesdd(plan_.mode, m, n, first, lda, result<R>(1), result<T>(2), ldu, result<T>(3),
                        ldvt, work, lwork, real_work, integer_work, info(4));
        else
          lapack::gesvd(plan_.mode, m, n, first, lda, result<R>(1), result<T>(2), ldu, result<T>(3),
                        ldvt, work, lwork, real_work, info(4));
        return;
      }
      case LapackRoutine::syevd:
        lapack::syevd(plan_.mode, plan_.uplo, n, first, lda, result<R>(1), work, lwork, real_work,
                      static_cast<int>(plan_.real_work), integer_work,
                      static_cast<int>(plan_.integer_work), info(2));
        return;
      case LapackRoutine::geev:
        if constexpr (complex) {
          lapack::geev(plan_.left, plan_.right, n, operand<T>(0), result<T>(0), result<T>(1),
                       result<T>(2), work, lwork, real_work, info(3));
        } else {
          R *left = real_work, *right = real_work + int64_t{n} * n;
          std::fill(left, left + 2 * int64_t{n} * n, R{});
          lapack::geev(plan_.left, plan_.right, n, operand<T>(0), result<R>(0), result<R>(1), left,
                       right, work, lwork, info(4));
          join_pairs(left, result<R>(1), n, result<std::complex<R>>(2));
          join_pairs(right, result<R>(1), n, result<std::complex<R>>(3));
        }
        return;
      case LapackRoutine::gees:
        if constexpr (complex)
          lapack::gees(plan_.mode, n, first, result<T>(2), result<T>(1), work, lwork, real_work,
                       integer_work, result<int>(3), info(4));
        else
          lapack::gees(plan_.mode, n, first, result<T>(2), result<T>(3), result<T>(1), work, lwork,
                       integer_work, result<int>(4), info(5));
        return;
      case LapackRoutine::gehrd:
        lapack::gehrd(n, plan_.low, plan_.high, first, lda, result<T>(1), work, lwork, info(2));
        return;
      case LapackRoutine::sytrd:
        lapack::sytrd(plan_.uplo, n, first, lda, result<R>(1), result<R>(2), result<T>(3), work,
                      lwork, info(4));
        return;
      case LapackRoutine::gtsv: {
        // JAX gives diagonals of full length: the first element of the lower one is not there.
        if (m == 0) return;
        lapack::gtsv(m, static_cast<int>(plan_.results[3].columns), result<T>(0) + 1, result<T>(1),
                     result<T>(2), result<T>(3), lda, info(4));
        return;
      }
    }
  }

 private:
  template <typename U>
  U* at(int64_t offset) const {
    return reinterpret_cast<U*>(scratch_ + offset);
  }
  template <typename U>
  U* operand(size_t i) const {
    return reinterpret_cast<U*>(places_.operands[i]);
  }
  // Begins as the operand that it takes the place of.
  template <typename U>
  U* result(size_t i) const {
    return reinterpret_cast<U*>(places_.results[i]);
  }

  // stablehlo.cholesky: the other triangle is zero; what is not positive definite has no factor.
  void finish_factor(T* a, int64_t n, bool failed) const {
    for (int64_t column = 0; column < n; ++column)
      for (int64_t row = 0; row < n; ++row) {
        bool inside = plan_.uplo == 'L' ? row >= column : row <= column;
        if (!inside)
          a[column * n + row] = T{};
        else if (failed)
          a[column * n + row] = std::numeric_limits<R>::quiet_NaN();
      }
  }

  // Of a conjugate pair the first column holds the real parts, the second the imaginary ones.
  static void join_pairs(const R* columns, const R* imaginary, int64_t n, std::complex<R>* out) {
    for (int64_t c = 0; c < n; ++c) {
      const R* real = columns + c * n;
      if (imaginary[c] == 0 || c + 1 == n) {
        for (int64_t i = 0; i < n; ++i) out[c * n + i] = real[i];
        continue;
      }
      for (int64_t i = 0; i < n; ++i) {
        out[c * n + i] = {real[i], real[n + i]};
        out[(c + 1) * n + i] = {real[i], -real[n + i]};
      }
      ++c;
    }
  }

  const LapackPlan& plan_;
  const Places& places_;
  std::byte* scratch_;
};

class CompiledLapack : public CompiledKernel {
 public:
  explicit CompiledLapack(LapackPlan plan) : plan_(std::move(plan)) {}

  void run(const KernelCall& call, ThreadPool&) const override {
    // The serial library is built without locks: two calls at a time would share its buffers.
    static std::mutex one_at_a_time;
    std::lock_guard lock(one_at_a_time);
    for (int64_t b = 0; b < plan_.batch; ++b) run_one(call, b, call.scratch);
  }

 private:
  void run_one(const KernelCall& call, int64_t b, std::byte* scratch) const {
    size_t operands = plan_.operands.size();
    auto array = [&](size_t buffer, const LapackPart& part) {
      return call.buffers[buffer] + b * part.bytes;
    };
    Places places;
    for (size_t i = 0; i < operands; ++i) {
      const LapackPart& part = plan_.operands[i];
      if (part.offset >= 0) read(part, array(i, part), scratch);
      places.operands.push_back(part.offset < 0 ? array(i, part) : scratch + part.offset);
    }
    for (size_t i = 0; i < plan_.results.size(); ++i) {
      const LapackPart& part = plan_.results[i];
      std::byte* at = part.offset < 0 ? array(operands + i, part) : scratch + part.offset;
      int64_t operand = overwritten_operand(plan_.routine, i);
      // Routines leave out what they are not asked for.
      if (operand < 0)
        std::memset(at, 0,
                    static_cast<size_t>(part.rows * part.columns * storage_bytes(part.held)));
      else if (std::byte* from = places.operands[static_cast<size_t>(operand)]; from != at)
        std::memcpy(at, from, static_cast<size_t>(part.bytes));
      places.results.push_back(at);
    }
    switch (plan_.dtype) {
      case DType::f32:
        Matrix<float, float>(plan_, places, scratch).compute();
        break;
      case DType::f64:
        Matrix<double, double>(plan_, places, scratch).compute();
        break;
      case DType::c64:
        Matrix<lapack::C, float>(plan_, places, scratch).compute();
        break;
      default:
        Matrix<lapack::Z, double>(plan_, places, scratch).compute();
        break;
    }
    for (size_t i = 0; i < plan_.results.size(); ++i)
      if (plan_.results[i].offset >= 0 && plan_.results[i].read)
        write(plan_.results[i], scratch, array(operands + i, plan_.results[i]));
  }

  LapackPlan plan_;
};

}  // namespace

Result<KernelRecipe> lapack_recipe(const Kernel&, const LibraryKernel& library) {
  LapackPlan plan = *plan_lapack(*library.op).plan;
  KernelRecipe recipe;
  recipe.finish = [plan](const std::vector<void*>&, std::shared_ptr<const void>) {
    return std::make_shared<CompiledLapack>(plan);
  };
  return recipe;
}

}  // namespace ullage
