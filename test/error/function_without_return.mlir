// error: this region does not end with func.return @4:1
func.func @main(%x: tensor<4xf32>) {
  %0 = stablehlo.negate %x : tensor<4xf32>
}
