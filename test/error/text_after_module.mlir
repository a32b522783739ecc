// error: expected the end of the text, found 'func.func' @7:1
module {
  func.func @main() {
    return
  }
}
func.func @f() {
  return
}
