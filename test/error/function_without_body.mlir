// error: the function @f has no body @3:24
module {
  func.func private @f(tensor<f32>) -> tensor<f32>
  func.func @main() {
    return
  }
}
