// Without a move the plan is lower than with one: the floor is not above it.
module {
  func.func public @main(%0: tensor<16x16xui8> {jax.buffer_donor = true}, %1: tensor<16x16x16xf64> {tf.aliasing_output = 2 : i32}, %2: tensor<16x16x16xi1> {tf.aliasing_output = 1 : i32}, %3: tensor<9x8xui8> {jax.buffer_donor = true}) -> (tensor<16x7xui8>, tensor<16x16x16xi1>, tensor<16x16x16xf64>) {
    %4 = stablehlo.select %2, %1, %1 : tensor<16x16x16xi1>, tensor<16x16x16xf64>
    %5 = stablehlo.round_nearest_afz %4 : tensor<16x16x16xf64>
    %6 = stablehlo.iota dim = 1 : tensor<16x7xui8>
    %7 = stablehlo.add %2, %2 : tensor<16x16x16xi1>
    %8 = stablehlo.constant dense<0> : tensor<ui8>
    %9 = "stablehlo.select_and_scatter"(%6, %3, %8) <{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 2, 1>, padding = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>}> ({
    ^bb0(%10: tensor<ui8>, %11: tensor<ui8>):
      %12 = stablehlo.compare GE, %10, %11 : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
      stablehlo.return %12 : tensor<i1>
    }, {
    ^bb0(%13: tensor<ui8>, %14: tensor<ui8>):
      %15 = stablehlo.add %13, %14 : tensor<ui8>
      stablehlo.return %15 : tensor<ui8>
    }) : (tensor<16x7xui8>, tensor<9x8xui8>, tensor<ui8>) -> tensor<16x7xui8>
    %16 = stablehlo.reverse %5, dims = [2] : tensor<16x16x16xf64>
    return %9, %7, %16 : tensor<16x7xui8>, tensor<16x16x16xi1>, tensor<16x16x16xf64>
  }
}
