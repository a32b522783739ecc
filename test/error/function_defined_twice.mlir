// error: the function @f is defined twice @5:1
func.func @f() {
  return
}
func.func @f() {
  return
}
