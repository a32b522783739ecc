// error: '%x' is used as tensor<2x2xf32>, but it has the type tensor<4xf32> @3:28
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.reshape %x : (tensor<2x2xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
