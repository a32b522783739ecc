// error: 5 bytes of data for tensor<4xf32>, which takes 16 @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<"0x0000803F00"> : tensor<4xf32>
    return %x : tensor<4xf32>
}
