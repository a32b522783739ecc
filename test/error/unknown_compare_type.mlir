// error: 'FLOATING' is no comparison_type @3:40
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.compare LT, %x, %x, FLOATING : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return %x : tensor<4xf32>
}
