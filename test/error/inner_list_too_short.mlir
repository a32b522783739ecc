// error: this list has 1 element, but dimension 1 of tensor<2x2xi32> has 2 @4:38
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<[[1, 2],
                                     [3]]> : tensor<2x2xi32>
    return %x : tensor<4xf32>
}
