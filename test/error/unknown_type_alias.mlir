// error: unknown type '!vector' @2:21
func.func @main(%x: !vector) {
  return
}
