// error: this constant is empty, but tensor<3xf32> has 3 elements @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<> : tensor<3xf32>
    return %x : tensor<4xf32>
}
