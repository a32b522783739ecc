// error: 99999999999 is out of the range of i32 @3:54
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @t(%x) {api_version = 99999999999 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
