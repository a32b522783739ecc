module {
  func.func @main(%x: tensor<0x16x1x16xui32>, %y: tensor<5x0x7xf32>) -> (tensor<1x16xui32>, tensor<5xf32>, tensor<0xf32>, tensor<f32>) {
    %c = stablehlo.constant dense<7> : tensor<ui32>
    %z = stablehlo.constant dense<-0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %c) applies stablehlo.and across dimensions = [0, 1] : (tensor<0x16x1x16xui32>, tensor<ui32>) -> tensor<1x16xui32>
    %1 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [1, 2] : (tensor<5x0x7xf32>, tensor<f32>) -> tensor<5xf32>
    %2 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0, 2] : (tensor<5x0x7xf32>, tensor<f32>) -> tensor<0xf32>
    %3 = stablehlo.reduce(%y init: %z) applies stablehlo.maximum across dimensions = [0, 1, 2] : (tensor<5x0x7xf32>, tensor<f32>) -> tensor<f32>
    return %0, %1, %2, %3 : tensor<1x16xui32>, tensor<5xf32>, tensor<0xf32>, tensor<f32>
  }
}
