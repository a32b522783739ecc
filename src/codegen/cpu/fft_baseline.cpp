// Fourier transforms for any processor.
#include "codegen/cpu/fft_code.h"

#if !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace ullage {
namespace {
constexpr int kFftVectorBytes = 16;
}
}  // namespace ullage

#include "codegen/cpu/fft_code_impl.h"

namespace ullage {

const FftCode& fft_code_baseline() {
  return code;
}

}  // namespace ullage
