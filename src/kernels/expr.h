// Expressions of kernels: a DAG of scalar computations over the indices of a loop space. Loads and
// iotas are affine in the loop indices, so that elementwise and indexing operations (slice, pad,
// concatenate, reverse, transpose, reshape, broadcast, iota, dynamic-slice, gather by index) all
// vanish into them. A node's value is that of the StableHLO operation on one element, in the
// operation's own dtype: code generation rounds after every node and contracts nothing by itself
// (normalize/contract.cpp does, on the program), so a value has the same bits in whatever kernel it
// is computed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/attributes.h"
#include "ir/op_info.h"
#include "ir/type.h"

namespace ullage {

// constant + sum over loop dimensions of coefficient * index. `coefficients` has one entry per loop
// dimension.
struct Affine {
  int64_t constant = 0;
  std::vector<int64_t> coefficients;
  friend bool operator==(const Affine&, const Affine&) = default;
};

// Address of an element within a buffer, in elements: the affine part plus, for each dynamic term,
// stride * node's value. A dynamic node is an i64 expression already clamped into range; it may be
// invariant (a dynamic slice's start) or depend on loop indices (a gather).
struct Access {
  Affine affine;
  struct Dynamic {
    int32_t node = -1;
    int64_t stride = 0;
    friend bool operator==(const Dynamic&, const Dynamic&) = default;
  };
  std::vector<Dynamic> dynamic;
  friend bool operator==(const Access&, const Access&) = default;
};

struct ExprNode {
  enum class Kind : uint8_t {
    load,  // element of input `input` at `access`; where `guard` (an in_range or i1 node) is false:
           // zero, not read
    constant,     // `bits`
    index,        // the affine index `access.affine`, converted to dtype (wrapping)
    in_range,     // i1: lower <= access.affine < upper
    op,           // elementwise operation `op` on `operands`
    accumulator,  // epilogues of products only: the finished sum, in the accumulation dtype
    parameter,    // combiner bodies only: parameter number `input`
  };

  Kind kind = Kind::op;
  DType dtype = DType::f32;
  OpKind op = OpKind::add;
  CompareDirection direction = CompareDirection::eq;    // op == compare; the operands' dtype and
  CompareType compare_type = CompareType::unspecified;  // this decide the kind of comparison
  ReducePrecisionAttributes precision;                  // op == reduce_precision
  std::array<int32_t, 3> operands = {-1, -1, -1};  // nodes; always of smaller number than this node
  // Complex numbers are pairs of nodes. A function of one that has no simple formula is an op with
  // the real and the imaginary part as operands, and this part (1: real, 2: imaginary) as value.
  uint8_t part = 0;
  int32_t input = -1;
  int32_t guard = -1;
  Access access;
  int64_t lower = 0, upper = 0;
  std::array<uint64_t, 2> bits = {
      0, 0};  // constant: little-endian bytes of one element of dtype, zero-padded

  friend bool operator==(const ExprNode& a, const ExprNode& b);
};

// Nodes in an order in which operands come first. Equal nodes are stored once.
struct Expr {
  std::vector<ExprNode> nodes;

  int32_t add(ExprNode node);  // number of the equal node that exists, or of the new one
  size_t size() const { return nodes.size(); }

 private:
  std::vector<std::vector<int32_t>> buckets_;
};

// Rough cost of one evaluation of all nodes, in vector operations per element: 1 for an addition,
// more for division and transcendental functions. Index arithmetic and loads count 0.
double operations_per_element(const Expr& expr);
double operation_cost(OpKind op, DType dtype);

}  // namespace ullage
