// error: unknown location '#loc7' @3:14
func.func @main() {
  return loc(#loc7)
}
