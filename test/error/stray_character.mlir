// error: this character has no meaning here @3:10
func.func @main() {
  return ;
}
