// error: 256 is out of the range of i8 @3:39
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<[1, 256]> : tensor<2xi8>
    return %x : tensor<4xf32>
}
