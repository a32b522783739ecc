// error: there is no function @missing @3:10
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @missing(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
