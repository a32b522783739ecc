// error: expected a complex number such as (1.0,2.0) @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<1.0> : tensor<complex<f32>>
    return %x : tensor<4xf32>
}
