// error: unknown attribute alias '#missing' @2:26
module attributes {a.b = #missing} {
  func.func @main() {
    return
  }
}
