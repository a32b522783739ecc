// error: unknown value '%a' @6:10
func.func @f(%a: tensor<f32>) {
  return
}
func.func @main() -> tensor<f32> {
  return %a : tensor<f32>
}
