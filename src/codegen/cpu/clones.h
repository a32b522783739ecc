// For small loops over arrays in files without instructions of their own: compiled once per
// instruction set and chosen by the loader. No arithmetic is fused, so all versions give the same
// bits.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define ULLAGE_CLONES __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define ULLAGE_CLONES
#endif
