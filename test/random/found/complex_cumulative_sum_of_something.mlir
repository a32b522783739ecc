module {
  func.func public @main(%0: tensor<2xcomplex<f32>>, %1: tensor<complex<f32>>) -> tensor<2xcomplex<f32>> {
    %2 = "stablehlo.reduce_window"(%0, %1) <{window_dimensions = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%3: tensor<complex<f32>>, %4: tensor<complex<f32>>):
      %5 = stablehlo.add %4, %3 : tensor<complex<f32>>
      stablehlo.return %5 : tensor<complex<f32>>
    }) : (tensor<2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    return %2 : tensor<2xcomplex<f32>>
  }
}
