// error: the value '%x' is defined twice @2:34
func.func @main(%x: tensor<f32>, %x: tensor<f32>) {
  return
}
