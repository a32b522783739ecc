// error: stablehlo.negate takes 0 regions, not 1 @3:10
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.negate"(%x) ({
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
