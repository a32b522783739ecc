// error: these dimension numbers are incomplete @3:54
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.convolution(%x, %x) dim_numbers = [b, 1, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
