// error: more than one module in this text @7:1
module {
  func.func @main() {
    return
  }
}
module {
  func.func @main() {
    return
  }
}
