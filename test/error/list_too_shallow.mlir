// error: expected a list for dimension 1 of tensor<2x1xi32> @3:36
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2x1xi32>
    return %x : tensor<4xf32>
}
