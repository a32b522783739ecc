// Known answers of Random123: threefry2x32-20 and philox4x32-10 of zero keys and counters.
func.func @main() {
  %zero = stablehlo.constant dense<0> : tensor<2xui64>
  %t:2 = "stablehlo.rng_bit_generator"(%zero) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
  check.expect_eq_const %t#1, dense<[1797259609, 2579123966]> : tensor<2xui32>
  check.expect_eq_const %t#0, dense<[0, 1]> : tensor<2xui64>
  %p:2 = "stablehlo.rng_bit_generator"(%zero) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xui32>)
  %first = stablehlo.slice %p#1 [0:4] : (tensor<6xui32>) -> tensor<4xui32>
  check.expect_eq_const %first, dense<[1713891541, 3781805453, 3159862348, 2600524760]> : tensor<4xui32>
  check.expect_eq_const %p#0, dense<[0, 2]> : tensor<2xui64>
  // The same state gives the same bits, whatever the shape.
  %q:2 = "stablehlo.rng_bit_generator"(%zero) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x3xui32>)
  %flat = stablehlo.reshape %q#1 : (tensor<2x3xui32>) -> tensor<6xui32>
  check.expect_eq %flat, %p#1 : tensor<6xui32>
  return
}
