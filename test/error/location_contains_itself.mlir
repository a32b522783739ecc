// error: the location '#loc1' contains itself @3:17
#loc1 = loc("a"(#loc2))
#loc2 = loc("b"(#loc1))
func.func @main() {
  return loc(#loc1)
}
