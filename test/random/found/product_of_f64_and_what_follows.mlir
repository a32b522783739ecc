module {
  func.func public @main(%0: tensor<4x5xf64>, %1: tensor<5x6xf64>, %2: tensor<4x6xf64>, %3: tensor<4x5xi64>, %4: tensor<5x6xi64>, %5: tensor<4x6xi64>) -> (tensor<4x6xf64>, tensor<4x6xi1>) {
    %6 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<4x5xf64>, tensor<5x6xf64>) -> tensor<4x6xf64>
    %7 = stablehlo.subtract %6, %2 : tensor<4x6xf64>
    %8 = stablehlo.dot_general %3, %4, contracting_dims = [1] x [0] : (tensor<4x5xi64>, tensor<5x6xi64>) -> tensor<4x6xi64>
    %9 = stablehlo.compare LT, %8, %5, SIGNED : (tensor<4x6xi64>, tensor<4x6xi64>) -> tensor<4x6xi1>
    return %7, %9 : tensor<4x6xf64>, tensor<4x6xi1>
  }
}
