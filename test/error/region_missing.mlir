// error: stablehlo.sort takes 1 region, not 0 @3:10
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
