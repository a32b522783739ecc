func.func public @main(%a: tensor<0x3x0x1xf32>, %b: tensor<3x0x0x5xf32>) -> tensor<3x1x5xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [1] x [0], contracting_dims = [2, 0] x [2, 1] : (tensor<0x3x0x1xf32>, tensor<3x0x0x5xf32>) -> tensor<3x1x5xf32>
  return %0 : tensor<3x1x5xf32>
}
