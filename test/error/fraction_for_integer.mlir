// error: a number with a fraction is no value of type i32 @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<1.5> : tensor<i32>
    return %x : tensor<4xf32>
}
