// error: unknown element type 'si32' @2:30
func.func @main(%x: tensor<4xsi32>) {
  return
}
