// error: this list has 3 elements, but dimension 0 of tensor<4xf32> has 4 @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<4xf32>
    return %x : tensor<4xf32>
}
