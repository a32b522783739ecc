// error: '%x' has no result #1 @3:27
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x#1 : tensor<4xf32>
    return %x : tensor<4xf32>
}
