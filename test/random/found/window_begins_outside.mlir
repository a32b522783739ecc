module {
  func.func public @main(%0: tensor<3x3xi16>, %1: tensor<5x40xf32>, %u: tensor<5x40xf32>) -> (tensor<3x3xi16>, tensor<5x40xf32>) {
    %i = stablehlo.constant dense<[-2]> : tensor<1xi32>
    %2 = stablehlo.constant dense<[[7391, 3798, -17777], [11178, 698, -14637], [-21889, -24878, -16433]]> : tensor<3x3xi16>
    %3 = "stablehlo.scatter"(%0, %i, %2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>}> ({
    ^bb0(%4: tensor<i16>, %5: tensor<i16>):
      stablehlo.return %5 : tensor<i16>
    }) : (tensor<3x3xi16>, tensor<1xi32>, tensor<3x3xi16>) -> tensor<3x3xi16>
    %6 = stablehlo.convert %3 : (tensor<3x3xi16>) -> tensor<3x3xi32>
    %7 = stablehlo.slice %6 [0:1, 0:1] : (tensor<3x3xi32>) -> tensor<1x1xi32>
    %8 = stablehlo.reshape %7 : (tensor<1x1xi32>) -> tensor<1xi32>
    %9 = stablehlo.constant dense<-17780> : tensor<1xi32>
    %10 = stablehlo.subtract %9, %8 : tensor<1xi32>
    %11 = "stablehlo.scatter"(%1, %10, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%12: tensor<f32>, %13: tensor<f32>):
      stablehlo.return %13 : tensor<f32>
    }) : (tensor<5x40xf32>, tensor<1xi32>, tensor<5x40xf32>) -> tensor<5x40xf32>
    return %3, %11 : tensor<3x3xi16>, tensor<5x40xf32>
  }
}
