// error: unknown value '%y' @3:28
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %y : tensor<4xf32>
    return %x : tensor<4xf32>
}
