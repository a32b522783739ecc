// error: unknown operation 'arith.addf' @3:10
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.addf %x, %x : tensor<4xf32>
    return %x : tensor<4xf32>
}
