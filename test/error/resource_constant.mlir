// error: constants kept in a resource section are not supported @3:29
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense_resource<weights> : tensor<4xf32>
    return %x : tensor<4xf32>
}
