func.func public @main(%a: tensor<0x15x0xi16>, %b: tensor<2x0xf32>, %x: tensor<2x3xf32>) -> (tensor<0x15x0xi16>, tensor<2x0xf32>, tensor<2x3xf32>) {
  %joined = stablehlo.concatenate %a, %a, dim = 2 : (tensor<0x15x0xi16>, tensor<0x15x0xi16>) -> tensor<0x15x0xi16>
  %mask = stablehlo.constant dense<> : tensor<2x0xi1>
  %chosen = stablehlo.select %mask, %b, %b : tensor<2x0xi1>, tensor<2x0xf32>
  %power = stablehlo.power %chosen, %chosen : tensor<2x0xf32>
  %zero = stablehlo.constant dense<0.5> : tensor<f32>
  %padded = stablehlo.pad %power, %zero, low = [0, 1], high = [0, 2], interior = [0, 0] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2x3xf32>
  %sum = stablehlo.add %padded, %x : tensor<2x3xf32>
  return %joined, %power, %sum : tensor<0x15x0xi16>, tensor<2x0xf32>, tensor<2x3xf32>
}
