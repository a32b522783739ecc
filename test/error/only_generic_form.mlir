// error: stablehlo.sort has only the generic form @3:10
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.sort %x : tensor<4xf32>
    return %x : tensor<4xf32>
}
