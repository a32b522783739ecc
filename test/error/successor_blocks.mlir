// error: unknown operation 'cf.br' @3:5
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    "cf.br"(%x)[^bb1] : (tensor<4xf32>) -> ()
    return %x : tensor<4xf32>
}
