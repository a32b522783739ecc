// error: result 0 of @f is tensor<f32>, not tensor<f64> @7:10
func.func @f() -> tensor<f32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f() : () -> tensor<f64>
    return %x : tensor<4xf32>
}
