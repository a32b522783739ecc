// error: this bit pattern does not fit bf16 @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<0x1FFFF> : tensor<bf16>
    return %x : tensor<4xf32>
}
