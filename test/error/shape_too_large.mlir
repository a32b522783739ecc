// error: this tensor has too many elements to address @2:28
func.func @main(%x: tensor<4611686018427387904x4xf32>) {
  return
}
