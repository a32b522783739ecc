// error: stablehlo.negate has 1 result, but 2 are named here @3:5
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0, %1 = stablehlo.negate %x : tensor<4xf32>
    return %x : tensor<4xf32>
}
