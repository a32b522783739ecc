// error: complex numbers of f16 are not supported @2:36
func.func @main(%x: tensor<complex<f16>>) {
  return
}
