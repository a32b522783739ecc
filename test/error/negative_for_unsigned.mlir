// error: -1 is out of the range of ui32 @3:35
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<-1> : tensor<ui32>
    return %x : tensor<4xf32>
}
