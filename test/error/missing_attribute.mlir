// error: stablehlo.transpose needs the attribute 'permutation' @3:10
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.transpose"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
