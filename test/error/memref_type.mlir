// error: memref types are not supported @2:21
func.func @main(%x: memref<4xf32>) {
  return
}
