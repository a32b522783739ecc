// error: this constant is not closed @3:34
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<[1.0, 2.0 : tensor<2xf32
    return %x : tensor<4xf32>
}
