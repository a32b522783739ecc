// error: this tensor has too many elements to address @2:28
func.func @main(%x: tensor<99999999999999999999xf32>) {
  return
}
