// error: 'LESS' is no comparison_direction @3:28
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.compare LESS, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return %x : tensor<4xf32>
}
