// error: the zero point 200 lies outside the storage range -128:127 @2:56
func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 1.0:200>>) {
  return
}
