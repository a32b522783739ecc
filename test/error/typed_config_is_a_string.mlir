// error: 'backend_config' of stablehlo.custom_call must be a dictionary, not a string @3:80
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @t(%x) {api_version = 4 : i32, backend_config = "text"} : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
}
