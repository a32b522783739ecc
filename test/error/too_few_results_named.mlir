// error: stablehlo.optimization_barrier has 2 results, but 1 is named here @3:5
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.optimization_barrier %x, %x : tensor<4xf32>, tensor<4xf32>
    return %x : tensor<4xf32>
}
