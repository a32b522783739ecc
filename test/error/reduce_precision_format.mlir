// error: expected a format such as e8m7 @3:50
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.reduce_precision %x, format = half : tensor<4xf32>
    return %x : tensor<4xf32>
}
