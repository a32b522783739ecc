module {
  func.func @main(%x: tensor<5xf32>, %y: tensor<3xi32>) -> (tensor<5xf32>, tensor<3xi32>) {
    return %x, %y : tensor<5xf32>, tensor<3xi32>
  }
}
