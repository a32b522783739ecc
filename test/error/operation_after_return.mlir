// error: func.return must be the last operation of its region @4:3
func.func @main(%x: tensor<4xf32>) {
  return
  stablehlo.optimization_barrier()
}
