// error: unknown value '%1' @8:24
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %p = stablehlo.constant dense<true> : tensor<i1>
    %0 = "stablehlo.if"(%p) ({
      %1 = stablehlo.negate %x : tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }, {
      stablehlo.return %1 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
