// error: the integer 1 is no value of type f32 @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<1> : tensor<f32>
    return %x : tensor<4xf32>
}
