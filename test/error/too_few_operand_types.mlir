// error: 2 operands but 1 operand type @3:50
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4xf32>) -> tensor<8xf32>
    return %x : tensor<4xf32>
}
