// error: this list has more than the 2 elements of dimension 0 of tensor<2xf32> @3:46
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<2xf32>
    return %x : tensor<4xf32>
}
