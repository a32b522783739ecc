module {
  func.func public @main(%0: tensor<1x1x1xf16> {jax.buffer_donor = true}, %1: tensor<i64>, %2: tensor<i32>, %3: tensor<i32> {jax.buffer_donor = true}, %4: tensor<1x1x1xf16>) -> tensor<i64> {
    %5:3 = stablehlo.while(%6 = %1, %7 = %4, %8 = %0) : tensor<i64>, tensor<1x1x1xf16>, tensor<1x1x1xf16>
     cond {
      %9 = stablehlo.constant dense<4> : tensor<i64>
      %10 = stablehlo.compare LT, %6, %9, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %11 = stablehlo.dynamic_update_slice %8, %0, %2, %2, %3 : (tensor<1x1x1xf16>, tensor<1x1x1xf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1x1xf16>
      %12 = stablehlo.constant dense<1> : tensor<i64>
      %13 = stablehlo.add %6, %12 : tensor<i64>
      stablehlo.return %13, %7, %11 : tensor<i64>, tensor<1x1x1xf16>, tensor<1x1x1xf16>
    }
    return %5#0 : tensor<i64>
  }
}
