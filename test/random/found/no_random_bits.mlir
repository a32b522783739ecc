module {
  func.func @main(%s: tensor<2xui64>, %x: tensor<40x0xui32>) -> (tensor<2xui64>, tensor<40x0xui32>, tensor<2xui64>) {
    %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<40x0xui32>)
    %2 = stablehlo.xor %1, %x : tensor<40x0xui32>
    %3, %4 = stablehlo.rng_bit_generator %0, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<0xui64>)
    return %0, %2, %3 : tensor<2xui64>, tensor<40x0xui32>, tensor<2xui64>
  }
}
