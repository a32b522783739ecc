// error: 1 bound for a tensor of rank 2 @2:37
func.func @main(%x: tensor<?x4xf32, #stablehlo.bounds<4>>) {
  return
}
