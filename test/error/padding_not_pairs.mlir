// error: 'padding' of stablehlo.reduce_window takes pairs, as in dense<[[0, 0]]> : tensor<1x2xi64> @4:56
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %z) <{padding = dense<[[0, 0, 0]]> : tensor<1x3xi64>, window_dimensions = array<i64: 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
    return %x : tensor<4xf32>
}
