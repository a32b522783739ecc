// error: the tensor encoding '#sparse.csr' is not supported @2:35
func.func @main(%x: tensor<4xf32, #sparse.csr>) {
  return
}
