// error: the alias '#a' is defined twice @3:1
#a = 1 : i32
#a = 2 : i32
func.func @main() {
  return
}
