// error: unknown element type 'float' @2:30
func.func @main(%x: tensor<4xfloat>) {
  return
}
