// error: 1.0e39 is out of the range of f32 @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<1.0e39> : tensor<f32>
    return %x : tensor<4xf32>
}
