// The LAPACK and BLAS routines that library_lapack.cpp calls, from OpenBLAS, as overloads over the
// element type. Arguments are those of the Fortran routines, the lengths of character arguments
// aside; real and complex variants that differ only in work arrays have one signature here, with
// the arrays that they do not take left out.
#pragma once

#include <complex>
#include <cstddef>

namespace ullage::lapack {

using F = float;
using D = double;
using C = std::complex<float>;
using Z = std::complex<double>;

#define ULLAGE_EVERY(X) X(s, F, F) X(d, D, D) X(c, C, F) X(z, Z, D)

#define ULLAGE_DECLARE(p, T, R)                                                                    \
  extern "C" {                                                                                     \
  void p##potrf_(const char*, const int*, T*, const int*, int*, size_t);                           \
  void p##trsm_(const char*, const char*, const char*, const char*, const int*, const int*,        \
                const T*, const T*, const int*, T*, const int*, size_t, size_t, size_t, size_t);   \
  void p##getrf_(const int*, const int*, T*, const int*, int*, int*);                              \
  void p##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                \
  void p##gehrd_(const int*, const int*, const int*, T*, const int*, T*, T*, const int*, int*);    \
  void p##gtsv_(const int*, const int*, T*, T*, T*, T*, const int*, int*);                         \
  }                                                                                                \
  inline void potrf(char uplo, int n, T* a, int lda, int* info) {                                  \
    p##potrf_(&uplo, &n, a, &lda, info, 1);                                                        \
  }                                                                                                \
  inline void trsm(char side, char uplo, char trans, char diag, int m, int n, const T* a, int lda, \
                   T* b, int ldb) {                                                                \
    const T one = 1;                                                                               \
    p##trsm_(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb, 1, 1, 1, 1);             \
  }                                                                                                \
  inline void getrf(int m, int n, T* a, int lda, int* pivots, int* info) {                         \
    p##getrf_(&m, &n, a, &lda, pivots, info);                                                      \
  }                                                                                                \
  inline void geqrf(int m, int n, T* a, int lda, T* tau, T* work, int lwork, int* info) {          \
    p##geqrf_(&m, &n, a, &lda, tau, work, &lwork, info);                                           \
  }                                                                                                \
  inline void gehrd(int n, int low, int high, T* a, int lda, T* tau, T* work, int lwork,           \
                    int* info) {                                                                   \
    p##gehrd_(&n, &low, &high, a, &lda, tau, work, &lwork, info);                                  \
  }                                                                                                \
  inline void gtsv(int n, int columns, T* lower, T* diagonal, T* upper, T* b, int ldb,             \
                   int* info) {                                                                    \
    p##gtsv_(&n, &columns, lower, diagonal, upper, b, &ldb, info);                                 \
  }
ULLAGE_EVERY(ULLAGE_DECLARE)
#undef ULLAGE_DECLARE

// Named differently for real and complex elements.
#define ULLAGE_DECLARE(orgqr_name, ormqr_name, sytrd_name, T, R)                                   \
  extern "C" {                                                                                     \
  void orgqr_name(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*,    \
                  int*);                                                                           \
  void ormqr_name(const char*, const char*, const int*, const int*, const int*, const T*,          \
                  const int*, const T*, T*, const int*, T*, const int*, int*, size_t, size_t);     \
  void sytrd_name(const char*, const int*, T*, const int*, R*, R*, T*, T*, const int*, int*,       \
                  size_t);                                                                         \
  }                                                                                                \
  inline void orgqr(int m, int n, int k, T* a, int lda, const T* tau, T* work, int lwork,          \
                    int* info) {                                                                   \
    orgqr_name(&m, &n, &k, a, &lda, tau, work, &lwork, info);                                      \
  }                                                                                                \
  inline void ormqr(char side, char trans, int m, int n, int k, const T* a, int lda, const T* tau, \
                    T* c, int ldc, T* work, int lwork, int* info) {                                \
    ormqr_name(&side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork, info, 1, 1);        \
  }                                                                                                \
  inline void sytrd(char uplo, int n, T* a, int lda, R* d, R* e, T* tau, T* work, int lwork,       \
                    int* info) {                                                                   \
    sytrd_name(&uplo, &n, a, &lda, d, e, tau, work, &lwork, info, 1);                              \
  }
ULLAGE_DECLARE(sorgqr_, sormqr_, ssytrd_, F, F)
ULLAGE_DECLARE(dorgqr_, dormqr_, dsytrd_, D, D)
ULLAGE_DECLARE(cungqr_, cunmqr_, chetrd_, C, F)
ULLAGE_DECLARE(zungqr_, zunmqr_, zhetrd_, Z, D)
#undef ULLAGE_DECLARE

// The complex ones take a real work array more.
#define ULLAGE_DECLARE(p, T, R)                                                                    \
  extern "C" {                                                                                     \
  void p##geqp3_(const int*, const int*, T*, const int*, int*, T*, T*, const int*, int*);          \
  void p##gesdd_(const char*, const int*, const int*, T*, const int*, R*, T*, const int*, T*,      \
                 const int*, T*, const int*, int*, int*, size_t);                                  \
  void p##gesvd_(const char*, const char*, const int*, const int*, T*, const int*, R*, T*,         \
                 const int*, T*, const int*, T*, const int*, int*, size_t, size_t);                \
  void p##syevd_(const char*, const char*, const int*, T*, const int*, R*, T*, const int*, int*,   \
                 const int*, int*, size_t, size_t);                                                \
  void p##geev_(const char*, const char*, const int*, T*, const int*, R*, R*, T*, const int*, T*,  \
                const int*, T*, const int*, int*, size_t, size_t);                                 \
  void p##gees_(const char*, const char*, void*, const int*, T*, const int*, int*, R*, R*, T*,     \
                const int*, T*, const int*, int*, int*, size_t, size_t);                           \
  }                                                                                                \
  inline void geqp3(int m, int n, T* a, int lda, int* pivots, T* tau, T* work, int lwork, R*,      \
                    int* info) {                                                                   \
    p##geqp3_(&m, &n, a, &lda, pivots, tau, work, &lwork, info);                                   \
  }                                                                                                \
  inline void gesdd(char mode, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt,  \
                    T* work, int lwork, R*, int* iwork, int* info) {                               \
    p##gesdd_(&mode, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, iwork, info, 1);        \
  }                                                                                                \
  inline void gesvd(char mode, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt,  \
                    T* work, int lwork, R*, int* info) {                                           \
    p##gesvd_(&mode, &mode, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, info, 1, 1);     \
  }                                                                                                \
  inline void syevd(char mode, char uplo, int n, T* a, int lda, R* w, T* work, int lwork, R*, int, \
                    int* iwork, int liwork, int* info) {                                           \
    p##syevd_(&mode, &uplo, &n, a, &lda, w, work, &lwork, iwork, &liwork, info, 1, 1);             \
  }
ULLAGE_DECLARE(s, F, F)
ULLAGE_DECLARE(d, D, D)
#undef ULLAGE_DECLARE

#define ULLAGE_DECLARE(p, T, R)                                                                    \
  extern "C" {                                                                                     \
  void p##geqp3_(const int*, const int*, T*, const int*, int*, T*, T*, const int*, R*, int*);      \
  void p##gesdd_(const char*, const int*, const int*, T*, const int*, R*, T*, const int*, T*,      \
                 const int*, T*, const int*, R*, int*, int*, size_t);                              \
  void p##gesvd_(const char*, const char*, const int*, const int*, T*, const int*, R*, T*,         \
                 const int*, T*, const int*, T*, const int*, R*, int*, size_t, size_t);            \
  void p##heevd_(const char*, const char*, const int*, T*, const int*, R*, T*, const int*, R*,     \
                 const int*, int*, const int*, int*, size_t, size_t);                              \
  void p##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, T*,      \
                const int*, T*, const int*, R*, int*, size_t, size_t);                             \
  void p##gees_(const char*, const char*, void*, const int*, T*, const int*, int*, T*, T*,         \
                const int*, T*, const int*, R*, int*, int*, size_t, size_t);                       \
  }                                                                                                \
  inline void geqp3(int m, int n, T* a, int lda, int* pivots, T* tau, T* work, int lwork,          \
                    R* rwork, int* info) {                                                         \
    p##geqp3_(&m, &n, a, &lda, pivots, tau, work, &lwork, rwork, info);                            \
  }                                                                                                \
  inline void gesdd(char mode, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt,  \
                    T* work, int lwork, R* rwork, int* iwork, int* info) {                         \
    p##gesdd_(&mode, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, rwork, iwork, info, 1); \
  }                                                                                                \
  inline void gesvd(char mode, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt,  \
                    T* work, int lwork, R* rwork, int* info) {                                     \
    p##gesvd_(&mode, &mode, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, rwork, info, 1,  \
              1);                                                                                  \
  }                                                                                                \
  inline void syevd(char mode, char uplo, int n, T* a, int lda, R* w, T* work, int lwork,          \
                    R* rwork, int lrwork, int* iwork, int liwork, int* info) {                     \
    p##heevd_(&mode, &uplo, &n, a, &lda, w, work, &lwork, rwork, &lrwork, iwork, &liwork, info, 1, \
              1);                                                                                  \
  }
ULLAGE_DECLARE(c, C, F)
ULLAGE_DECLARE(z, Z, D)
#undef ULLAGE_DECLARE
#undef ULLAGE_EVERY

// Eigenvalues of real matrices: two arrays of their parts, vectors of conjugate pairs side by side.
inline void geev(char l, char r, int n, F* a, F* wr, F* wi, F* vl, F* vr, F* work, int lwork,
                 int* info) {
  int ld = n > 0 ? n : 1;
  sgeev_(&l, &r, &n, a, &ld, wr, wi, vl, &ld, vr, &ld, work, &lwork, info, 1, 1);
}
inline void geev(char l, char r, int n, D* a, D* wr, D* wi, D* vl, D* vr, D* work, int lwork,
                 int* info) {
  int ld = n > 0 ? n : 1;
  dgeev_(&l, &r, &n, a, &ld, wr, wi, vl, &ld, vr, &ld, work, &lwork, info, 1, 1);
}
inline void geev(char l, char r, int n, C* a, C* w, C* vl, C* vr, C* work, int lwork, F* rwork,
                 int* info) {
  int ld = n > 0 ? n : 1;
  cgeev_(&l, &r, &n, a, &ld, w, vl, &ld, vr, &ld, work, &lwork, rwork, info, 1, 1);
}
inline void geev(char l, char r, int n, Z* a, Z* w, Z* vl, Z* vr, Z* work, int lwork, D* rwork,
                 int* info) {
  int ld = n > 0 ? n : 1;
  zgeev_(&l, &r, &n, a, &ld, w, vl, &ld, vr, &ld, work, &lwork, rwork, info, 1, 1);
}

// Schur forms without a choice of eigenvalues.
inline void gees(char mode, int n, F* a, F* wr, F* wi, F* vs, F* work, int lwork, int* bwork,
                 int* chosen, int* info) {
  int ld = n > 0 ? n : 1;
  sgees_(&mode, "N", nullptr, &n, a, &ld, chosen, wr, wi, vs, &ld, work, &lwork, bwork, info, 1, 1);
}
inline void gees(char mode, int n, D* a, D* wr, D* wi, D* vs, D* work, int lwork, int* bwork,
                 int* chosen, int* info) {
  int ld = n > 0 ? n : 1;
  dgees_(&mode, "N", nullptr, &n, a, &ld, chosen, wr, wi, vs, &ld, work, &lwork, bwork, info, 1, 1);
}
inline void gees(char mode, int n, C* a, C* w, C* vs, C* work, int lwork, F* rwork, int* bwork,
                 int* chosen, int* info) {
  int ld = n > 0 ? n : 1;
  cgees_(&mode, "N", nullptr, &n, a, &ld, chosen, w, vs, &ld, work, &lwork, rwork, bwork, info, 1,
         1);
}
inline void gees(char mode, int n, Z* a, Z* w, Z* vs, Z* work, int lwork, D* rwork, int* bwork,
                 int* chosen, int* info) {
  int ld = n > 0 ? n : 1;
  zgees_(&mode, "N", nullptr, &n, a, &ld, chosen, w, vs, &ld, work, &lwork, rwork, bwork, info, 1,
         1);
}

}  // namespace ullage::lapack
