// error: #stablehlo.gather has no field 'offset_dim' @3:77
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.gather"(%x, %x) <{dimension_numbers = #stablehlo.gather<offset_dim = [0]>, slice_sizes = array<i64: 1>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
