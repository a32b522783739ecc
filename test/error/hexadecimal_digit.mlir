// error: this is no hexadecimal digit @3:44
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<"0x0000803G"> : tensor<f32>
    return %x : tensor<4xf32>
}
