// error: expected 'x' and an element type after the extent 4 @2:29
func.func @main(%x: tensor<4,f32>) {
  return
}
