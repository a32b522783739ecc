// error: '%0' has no result #2 @4:27
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0:2 = stablehlo.optimization_barrier %x, %x : tensor<4xf32>, tensor<4xf32>
    %1 = stablehlo.negate %0#2 : tensor<4xf32>
    return %x : tensor<4xf32>
}
