// error: argument 0 of @f is tensor<f64>, not tensor<4xf32> @6:5
func.func @f(%a: tensor<f64>) {
  return
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    call @f(%x) : (tensor<4xf32>) -> ()
    return %x : tensor<4xf32>
}
