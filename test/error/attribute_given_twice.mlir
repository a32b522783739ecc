// error: the attribute 'permutation' is given twice @3:67
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.transpose"(%x) <{permutation = array<i64: 0>, permutation = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
