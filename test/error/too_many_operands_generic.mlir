// error: stablehlo.negate takes 1 operand, not 2 @3:10
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.negate"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
