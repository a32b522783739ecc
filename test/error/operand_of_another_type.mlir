// error: '%x' is used as tensor<4xf64>, but it has the type tensor<4xf32> @3:24
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf64>
    return %x : tensor<4xf32>
}
