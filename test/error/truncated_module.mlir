// error: expected '}', but the text ends here @6:1
module {
  func.func @main() {
    return
  }
