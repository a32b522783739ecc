// Decompositions and triangular solves: stablehlo.cholesky and triangular_solve, and the custom
// calls that JAX makes for the rest, named after the LAPACK routines that compute them. A call is a
// batch of independent matrices, with scratch for one of them: each operand and result
// column-major, as LAPACK wants them, a result that is computed in the place of an operand there;
// and the routine's own work arrays. Where the transposed problem is of the same kind, the
// program's row-major arrays are used as they are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace ullage {

enum class LapackRoutine : uint8_t {
  potrf,  // Cholesky factor; of stablehlo.cholesky the other triangle is zero
  trsm,   // triangular solve
  getrf,  // LU with row exchanges
  geqrf,  // QR as Householder reflectors
  geqp3,  // the same with column exchanges
  orgqr,  // product of Householder reflectors
  ormqr,  // that product times a matrix
  gesdd,  // singular values by divide and conquer
  gesvd,  // singular values by QR iterations
  syevd,  // symmetric or Hermitian eigenvalues
  geev,   // eigenvalues
  gees,   // Schur form
  gehrd,  // Hessenberg form
  sytrd,  // tridiagonal form
  gtsv,   // tridiagonal solve
};

// A matrix or vector of one batch entry: an operand or a result.
struct LapackPart {
  DType stored = DType::f32;  // in the program's arrays, row-major
  DType held = DType::f32;    // in scratch: f32 for bf16 and f16
  int64_t rows = 1, columns = 1;
  int64_t bytes = 0;   // of one batch entry in the program's array
  int64_t offset = 0;  // in scratch; -1: used where it is
  bool read = true;    // of a result: by anyone
};

struct LapackPlan {
  LapackRoutine routine = LapackRoutine::potrf;
  DType dtype = DType::f32;  // f32, f64, c64 or c128: what the routine computes in
  int64_t batch = 1;
  std::vector<LapackPart> operands, results;
  bool transposed = false;  // the transposed problem, on arrays used where they are
  // Characters as LAPACK takes them.
  char uplo = 'L', side = 'L', trans = 'N', diag = 'N', mode = 'N', left = 'N', right = 'N';
  int low = 1, high = 1;        // gehrd: rows and columns that are not triangular yet
  bool clear_triangle = false;  // potrf: of stablehlo.cholesky
  // Elements of the work arrays: of dtype, of its real type, integers; and where they are.
  int64_t work = 0, real_work = 0, integer_work = 0;
  int64_t work_offset = 0, real_work_offset = 0, integer_work_offset = 0;
  int64_t worker_bytes = 0;  // scratch
  double operations = 0;
};

// The operand in whose place a routine computes a result, or -1.
int64_t overwritten_operand(LapackRoutine routine, size_t result);

// The plan of an operation that is one of these, or why it cannot be computed.
struct LapackChoice {
  std::optional<LapackPlan> plan;
  std::string refusal;
};
LapackChoice plan_lapack(const Op& op);
// Whether the name of a custom call is one of these.
bool is_lapack_target(std::string_view target);

}  // namespace ullage
