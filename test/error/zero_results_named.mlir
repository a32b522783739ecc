// error: the number of results must be positive @3:8
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0:0 = stablehlo.negate %x : tensor<4xf32>
    return %x : tensor<4xf32>
}
