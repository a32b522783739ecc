// error: 2 scales for dimension 0 of extent 4 @2:51
func.func @main(%x: tensor<4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  return
}
