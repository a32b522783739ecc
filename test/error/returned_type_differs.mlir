// error: result 0 of the function @main is tensor<5xf32> in its signature, but tensor<4xf32> is returned @4:5
func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {

    return %x : tensor<4xf32>
}
