// error: 70000.0 is out of the range of f16 @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<70000.0> : tensor<f16>
    return %x : tensor<4xf32>
}
