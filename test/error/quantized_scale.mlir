// error: the scale of a quantized type must be positive @2:53
func.func @main(%x: tensor<4x!quant.uniform<i8:f32, -1.0:0>>) {
  return
}
