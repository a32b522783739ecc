// error: the integer 99999999999999999999 does not fit 64 bits @3:31
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.iota dim = 99999999999999999999 : tensor<4xi32>
    return %x : tensor<4xf32>
}
