// error: the function @main returns 1 value, but its signature has 2 @4:5
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {

    return %x : tensor<4xf32>
}
