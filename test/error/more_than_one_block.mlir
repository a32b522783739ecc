// error: a region with more than one block is not supported @4:1
func.func @main() {
  return
^bb1:
  return
}
