// error: the value '%0' is defined twice @4:5
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    %0 = stablehlo.abs %x : tensor<4xf32>
    return %x : tensor<4xf32>
}
