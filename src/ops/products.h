// What sums of products may be held in: for the verifiers of products and convolutions.
#pragma once

#include "ops/rules.h"

namespace ullage::ops {

// Whether sums of products of these are of the result's kind: numbers with a fraction are not
// rounded to whole ones, nor complex numbers to real ones.
inline bool holds_products(const Type& lhs, const Type& rhs, const Type& result) {
  const unsigned operands = element_class(lhs) | element_class(rhs);
  const unsigned held = element_class(result);
  if (operands & kComplex) return held == kComplex;
  return !(operands & kFloat) || (held & (kFloat | kComplex));
}

}  // namespace ullage::ops
