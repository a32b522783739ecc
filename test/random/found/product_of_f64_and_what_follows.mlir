module {
  func.func public @main(%0: tensor<4x5xf64>, %1: tensor<5x6xf64>, %2: tensor<4x6xf64>) -> tensor<4x6xi1> {
    %6 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<4x5xf64>, tensor<5x6xf64>) -> tensor<4x6xf64>
    %8 = stablehlo.add %6, %2 : tensor<4x6xf64>
    %9 = stablehlo.compare EQ, %8, %2, FLOAT : (tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x6xi1>
    return %9 : tensor<4x6xi1>
  }
}
