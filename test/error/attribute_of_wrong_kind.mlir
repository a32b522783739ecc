// error: 'permutation' of stablehlo.transpose must be a list of integers, not a string @3:52
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.transpose"(%x) <{permutation = "0"}> : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
