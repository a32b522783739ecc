// error: tensors of unknown rank are not supported @2:28
func.func @main(%x: tensor<*xf32>) {
  return
}
