// error: expected a value such as %0, but the text ends here @3:25
func.func @main(%x: tensor<4xf32>) {
  %0 = stablehlo.add %x,