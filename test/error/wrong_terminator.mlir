// error: stablehlo.return does not end a region of this kind @4:5
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {

    stablehlo.return %x : tensor<4xf32>
}
