// error: a constant cannot have the type tensor<?xf32> @3:42
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<1.0> : tensor<?xf32>
    return %x : tensor<4xf32>
}
