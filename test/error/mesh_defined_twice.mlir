// error: the mesh @m is defined twice @4:12
module {
  sdy.mesh @m = <["x"=2]>
  sdy.mesh @m = <["x"=4]>
  func.func @main() {
    return
  }
}
