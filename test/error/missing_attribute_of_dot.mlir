// error: stablehlo.dot_general needs the attribute 'dot_dimension_numbers' @3:10
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.dot_general"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    return %x : tensor<4xf32>
}
