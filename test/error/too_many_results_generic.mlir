// error: stablehlo.negate has 1 result, not 2 @3:12
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0:2 = "stablehlo.negate"(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %x : tensor<4xf32>
}
