// error: an odd number of hexadecimal digits @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<"0x00008"> : tensor<f32>
    return %x : tensor<4xf32>
}
