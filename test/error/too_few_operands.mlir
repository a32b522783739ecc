// error: expected ',', found ':' @3:27
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x : tensor<4xf32>
    return %x : tensor<4xf32>
}
