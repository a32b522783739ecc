// error: 'tf.aliasing_output' must be the number of a result @2:55
func.func @main(%x: tensor<f32> {tf.aliasing_output = "0"}) {
  return
}
