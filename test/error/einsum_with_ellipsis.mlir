// error: stablehlo.unary_einsum: an ellipsis in einsum_config is not supported: ...->... @3:8
func.func @main(%x: tensor<3x3x3xf32>) -> tensor<3x3x3xf32> {
  %r = "stablehlo.unary_einsum"(%x) {einsum_config = "...->..."} : (tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  return %r : tensor<3x3x3xf32>
}
