// error: 'BEST' is no precision @3:83
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0], precision = [BEST, DEFAULT] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    return %x : tensor<4xf32>
}
