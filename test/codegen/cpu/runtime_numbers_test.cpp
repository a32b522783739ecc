// What code leaves out, so that kernels of other sizes share it.
#include "codegen/cpu/runtime_numbers.h"

#include <gtest/gtest.h>

namespace ullage {
namespace {

// out[i, j] = in[i * stride + j + offset], with lanes along j.
LoopNest rows(int64_t stride, int64_t offset, int64_t lane_stride = 1) {
  LoopNest nest;
  nest.extents = {20, 30};
  nest.roles.assign(2, LoopRole::parallel);
  nest.order = {0};
  nest.vector_dim = 1;
  ExprNode load;
  load.kind = ExprNode::Kind::load;
  load.input = 0;
  load.access.affine = {offset, {stride, lane_stride}};
  KernelOutput out;
  out.node = nest.expr.add(load);
  out.store.affine = {0, {30, 1}};
  nest.outputs = {out};
  return nest;
}

std::pair<std::string, std::vector<int64_t>> taken(LoopNest nest) {
  RuntimeNumbers numbers;
  numbers.take(nest);
  std::string key;
  append_key(key, nest);
  return {key, numbers.values()};
}

TEST(RuntimeNumbers, SizesAreTaken) {
  auto [small, of_small] = taken(rows(50, 7));
  auto [large, of_large] = taken(rows(5000, 70));
  EXPECT_EQ(small, large);
  EXPECT_EQ(of_small, (std::vector<int64_t>{50, 7, 30}));
  EXPECT_EQ(of_large, (std::vector<int64_t>{5000, 70, 30}));
}

TEST(RuntimeNumbers, FormsStay) {
  std::string whole = taken(rows(50, 0)).first;
  EXPECT_NE(whole, taken(rows(0, 0)).first);      // the same row again
  EXPECT_NE(whole, taken(rows(50, 0, 0)).first);  // the same element in all lanes
  EXPECT_NE(whole, taken(rows(50, 0, -1)).first);
  EXPECT_NE(whole, taken(rows(50, 0, 3)).first);  // elements that are fetched one by one
  EXPECT_EQ(taken(rows(50, 0, 3)).first, taken(rows(50, 0, 500)).first);
  EXPECT_NE(taken(rows(50, 0, 3)).first, taken(rows(50, 0, int64_t{1} << 30)).first);
}

TEST(RuntimeNumbers, ConstantsWhereAnyValueIsAsGood) {
  auto with = [](OpKind op, DType dtype, uint64_t bits) {
    LoopNest nest = rows(50, 0);
    for (ExprNode& node : nest.expr.nodes) node.dtype = dtype;
    ExprNode constant;
    constant.kind = ExprNode::Kind::constant;
    constant.dtype = dtype;
    constant.bits[0] = bits;
    ExprNode result;
    result.op = op;
    result.dtype = dtype;
    result.operands = {0, nest.expr.add(constant), -1};
    nest.outputs[0].node = nest.expr.add(result);
    return taken(nest).first;
  };
  EXPECT_EQ(with(OpKind::add, DType::f32, 5), with(OpKind::add, DType::f32, 6));
  EXPECT_EQ(with(OpKind::divide, DType::f32, 5), with(OpKind::divide, DType::f32, 6));
  EXPECT_NE(with(OpKind::divide, DType::i32, 5), with(OpKind::divide, DType::i32, 6));
  EXPECT_NE(with(OpKind::power, DType::f32, 5), with(OpKind::power, DType::f32, 6));
}

}  // namespace
}  // namespace ullage
