// error: 'DCT' is no fft_type @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.fft %x, type = DCT, length = [4] : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
