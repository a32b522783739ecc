// error: the numbers of spatial dimensions differ: 1 of the input, 2 of the kernel, 1 of the output @3:54
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.convolution(%x, %x) dim_numbers = [b, 0, f]x[0, 1, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
