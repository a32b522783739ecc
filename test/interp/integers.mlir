// Integer arithmetic at its edges: what the specification leaves open is fixed in interp/interpret.h.
func.func @main() {
  %a = stablehlo.constant dense<[7, -7, 5, -2147483648]> : tensor<4xi32>
  %b = stablehlo.constant dense<[2, 2, 0, -1]> : tensor<4xi32>
  %quotient = stablehlo.divide %a, %b : tensor<4xi32>
  check.expect_eq_const %quotient, dense<[3, -3, -1, -2147483648]> : tensor<4xi32>
  %remainder = stablehlo.remainder %a, %b : tensor<4xi32>
  check.expect_eq_const %remainder, dense<[1, -1, 5, 0]> : tensor<4xi32>

  %u = stablehlo.constant dense<[7, 0, 255]> : tensor<3xui8>
  %v = stablehlo.constant dense<[0, 3, 16]> : tensor<3xui8>
  %uq = stablehlo.divide %u, %v : tensor<3xui8>
  check.expect_eq_const %uq, dense<[255, 0, 15]> : tensor<3xui8>

  %x = stablehlo.constant dense<[1, -128, -1, 64]> : tensor<4xi8>
  %by = stablehlo.constant dense<[7, 1, 8, -1]> : tensor<4xi8>
  %left = stablehlo.shift_left %x, %by : tensor<4xi8>
  check.expect_eq_const %left, dense<[-128, 0, 0, 0]> : tensor<4xi8>
  %logical = stablehlo.shift_right_logical %x, %by : tensor<4xi8>
  check.expect_eq_const %logical, dense<[0, 64, 0, 0]> : tensor<4xi8>
  %arithmetic = stablehlo.shift_right_arithmetic %x, %by : tensor<4xi8>
  check.expect_eq_const %arithmetic, dense<[0, -64, -1, 0]> : tensor<4xi8>

  %n = stablehlo.constant dense<[7, -8, 3]> : tensor<3xi4>
  %m = stablehlo.constant dense<[1, -1, 3]> : tensor<3xi4>
  %sum = stablehlo.add %n, %m : tensor<3xi4>
  check.expect_eq_const %sum, dense<[-8, 7, 6]> : tensor<3xi4>
  %product = stablehlo.multiply %n, %m : tensor<3xi4>
  check.expect_eq_const %product, dense<[7, -8, -7]> : tensor<3xi4>

  %base = stablehlo.constant dense<[3, -1, 2, 0]> : tensor<4xi32>
  %exponent = stablehlo.constant dense<[4, -3, -1, 0]> : tensor<4xi32>
  %power = stablehlo.power %base, %exponent : tensor<4xi32>
  check.expect_eq_const %power, dense<[81, -1, 0, 1]> : tensor<4xi32>

  %bits = stablehlo.constant dense<[0, 1, -1, 16]> : tensor<4xi16>
  %zeros = stablehlo.count_leading_zeros %bits : tensor<4xi16>
  check.expect_eq_const %zeros, dense<[16, 15, 0, 11]> : tensor<4xi16>
  %ones = stablehlo.popcnt %bits : tensor<4xi16>
  check.expect_eq_const %ones, dense<[0, 1, 16, 1]> : tensor<4xi16>

  %t = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %f = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  %or = stablehlo.add %t, %f : tensor<3xi1>
  check.expect_eq_const %or, dense<[true, true, false]> : tensor<3xi1>
  %and = stablehlo.multiply %t, %f : tensor<3xi1>
  check.expect_eq_const %and, dense<[true, false, false]> : tensor<3xi1>
  return
}
