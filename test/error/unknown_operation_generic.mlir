// error: unknown operation 'stablehlo.frobnicate' @3:10
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.frobnicate"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
