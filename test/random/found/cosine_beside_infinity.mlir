// Infinities beside it in a vector must not change the bits of a cosine.
module {
  func.func public @main(%0: tensor<24x2xf32>, %1: tensor<i32>, %2: tensor<1x1x2x24xf32>) -> tensor<2x24xf32> {
    %3 = stablehlo.transpose %0, dims = [1, 0] : (tensor<24x2xf32>) -> tensor<2x24xf32>
    %4:3 = stablehlo.optimization_barrier %2, %3, %1 : tensor<1x1x2x24xf32>, tensor<2x24xf32>, tensor<i32>
    %5 = stablehlo.cosine %4#1 : tensor<2x24xf32>
    return %5 : tensor<2x24xf32>
  }
}
