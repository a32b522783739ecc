module {
  func.func public @main(%0: tensor<i1>, %1: tensor<f32>, %2: tensor<0xf32>) -> tensor<1x1xf32> {
    %3:2 = call @callee_0(%0, %2, %1) : (tensor<i1>, tensor<0xf32>, tensor<f32>) -> (tensor<1x1xf32>, tensor<1x1xf32>)
    return %3#0 : tensor<1x1xf32>
  }
  func.func private @callee_0(%0: tensor<i1>, %1: tensor<0xf32>, %2: tensor<f32>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
    %3 = stablehlo.constant dense<> : tensor<1x0x1xf32>
    %4 = stablehlo.dot_general %1, %3, contracting_dims = [0] x [1] : (tensor<0xf32>, tensor<1x0x1xf32>) -> tensor<1x1xf32>
    return %4, %4 : tensor<1x1xf32>, tensor<1x1xf32>
  }
}
