// error: @f takes 0 arguments, not 1 @6:5
func.func @f() {
  return
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    call @f(%x) : (tensor<4xf32>) -> ()
    return %x : tensor<4xf32>
}
