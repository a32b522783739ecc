// Conversions that round, saturate or reinterpret.
func.func @main() {
  %x = stablehlo.constant dense<[300.7, -300.0, 0x7FC00000, -1.9, 127.5]> : tensor<5xf32>
  %i8 = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xi8>
  check.expect_eq_const %i8, dense<[127, -128, 0, -1, 127]> : tensor<5xi8>
  %ui8 = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xui8>
  check.expect_eq_const %ui8, dense<[255, 0, 0, 0, 127]> : tensor<5xui8>
  %i1 = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %i1, dense<true> : tensor<5xi1>

  // Rounding an integer once: 2^53 + 2^29 + 1 lies just above a tie of f32.
  %big = stablehlo.constant dense<[9007199791611905, 16777217, 16777219]> : tensor<3xi64>
  %f32 = stablehlo.convert %big : (tensor<3xi64>) -> tensor<3xf32>
  check.expect_eq_const %f32, dense<[9007200328482816.0, 16777216.0, 16777220.0]> : tensor<3xf32>

  // Ties to even in bf16: 1 + 2^-8 goes down, 1 + 3 * 2^-8 goes up; just above a tie goes up.
  %fine = stablehlo.constant dense<[1.00390625, 1.01171875, 1.004]> : tensor<3xf32>
  %bf16 = stablehlo.convert %fine : (tensor<3xf32>) -> tensor<3xbf16>
  check.expect_eq_const %bf16, dense<[1.0, 1.015625, 1.0078125]> : tensor<3xbf16>

  // f16: overflow to infinity, subnormals kept.
  %wide = stablehlo.constant dense<[65504.0, 65520.0, 5.9604645e-8, 2.0e-8]> : tensor<4xf32>
  %f16 = stablehlo.convert %wide : (tensor<4xf32>) -> tensor<4xf16>
  check.expect_eq_const %f16, dense<[65504.0, 0x7C00, 5.9604645e-8, 0.0]> : tensor<4xf16>

  // f8E4M3FN has no infinity: overflow is NaN. Its largest value is 448.
  %eight = stablehlo.constant dense<[448.0, 0.0625, 17.0, 19.0]> : tensor<4xf32>
  %f8 = stablehlo.convert %eight : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %back = stablehlo.convert %f8 : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  check.expect_eq_const %back, dense<[448.0, 0.0625, 16.0, 20.0]> : tensor<4xf32>

  %words = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui32>
  %joined = stablehlo.bitcast_convert %words : (tensor<2x2xui32>) -> tensor<2xui64>
  check.expect_eq_const %joined, dense<[8589934593, 17179869187]> : tensor<2xui64>
  %bytes = stablehlo.bitcast_convert %joined : (tensor<2xui64>) -> tensor<2x8xui8>
  check.expect_eq_const %bytes, dense<[[1, 0, 0, 0, 2, 0, 0, 0], [3, 0, 0, 0, 4, 0, 0, 0]]> : tensor<2x8xui8>
  %byte = stablehlo.constant dense<[-91, 16]> : tensor<2xi8>
  %nibbles = stablehlo.bitcast_convert %byte : (tensor<2xi8>) -> tensor<2x2xui4>
  check.expect_eq_const %nibbles, dense<[[5, 10], [0, 1]]> : tensor<2x2xui4>
  return
}
