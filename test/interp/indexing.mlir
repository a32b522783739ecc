// Indices out of range: slices and gathers move inside, scatters drop the update.
func.func @main() {
  %a = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %m1 = stablehlo.constant dense<-5> : tensor<i32>
  %9 = stablehlo.constant dense<9> : tensor<i32>
  %slice = stablehlo.dynamic_slice %a, %9, %m1, sizes = [2, 2] : (tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
  check.expect_eq_const %slice, dense<[[4, 5], [8, 9]]> : tensor<2x2xi32>
  %update = stablehlo.constant dense<[[-1, -2]]> : tensor<1x2xi32>
  %updated = stablehlo.dynamic_update_slice %a, %update, %9, %9 : (tensor<3x4xi32>, tensor<1x2xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>
  check.expect_eq_const %updated, dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, -1, -2]]> : tensor<3x4xi32>
  // The operand itself is unchanged: updates in place are invisible.
  check.expect_eq_const %a, dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>

  %rows = stablehlo.constant dense<[[2], [-1], [7]]> : tensor<3x1xi64>
  %gathered = "stablehlo.gather"(%a, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xi32>, tensor<3x1xi64>) -> tensor<3x4xi32>
  check.expect_eq_const %gathered, dense<[[8, 9, 10, 11], [0, 1, 2, 3], [8, 9, 10, 11]]> : tensor<3x4xi32>

  %ones = stablehlo.constant dense<100> : tensor<3x4xi32>
  %scattered = "stablehlo.scatter"(%a, %rows, %ones) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<3x4xi32>, tensor<3x1xi64>, tensor<3x4xi32>) -> tensor<3x4xi32>
  check.expect_eq_const %scattered, dense<[[0, 1, 2, 3], [4, 5, 6, 7], [108, 109, 110, 111]]> : tensor<3x4xi32>

  // Negative edge padding crops, interior padding spreads.
  %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %padded = stablehlo.pad %v, %zero, low = [-1], high = [2], interior = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<8xi32>
  check.expect_eq_const %padded, dense<[0, 2, 0, 3, 0, 4, 0, 0]> : tensor<8xi32>
  %cropped = stablehlo.pad %v, %zero, low = [-1], high = [-1], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %cropped, dense<[2, 3]> : tensor<2xi32>

  // Without elements there is nothing to turn round.
  %none = stablehlo.constant dense<> : tensor<0x3xi32>
  %reversed = stablehlo.reverse %none, dims = [0, 1] : tensor<0x3xi32>
  check.expect_eq_const %reversed, dense<> : tensor<0x3xi32>
  return
}
