// error: unknown window field 'strides' @3:96
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.convolution(%x, %x) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {strides = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
