// error: a value cannot have the type f32 @2:21
func.func @main(%x: f32) {
  return
}
