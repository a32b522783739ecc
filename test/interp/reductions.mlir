// Reductions with several results, calls in the body, empty inputs and windows; products of mixed types.
func.func private @larger(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.maximum %x, %y : tensor<f32>
  return %0 : tensor<f32>
}
func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 5.0, 2.0], [7.0, 7.0, 3.0]]> : tensor<2x3xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %positions = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %r:2 = "stablehlo.reduce"(%a, %positions, %low, %zero) ({
  ^bb0(%v: tensor<f32>, %i: tensor<i32>, %w: tensor<f32>, %k: tensor<i32>):
    %better = stablehlo.compare GT, %w, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %value = stablehlo.select %better, %w, %v : tensor<i1>, tensor<f32>
    %index = stablehlo.select %better, %k, %i : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : tensor<f32>, tensor<i32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  check.expect_eq_const %r#0, dense<[5.0, 7.0]> : tensor<2xf32>
  check.expect_eq_const %r#1, dense<[1, 0]> : tensor<2xi32>

  %m = "stablehlo.reduce"(%a, %low) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = func.call @larger(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %m, dense<7.0> : tensor<f32>

  %empty = stablehlo.constant dense<> : tensor<2x0xf32>
  %e = "stablehlo.reduce"(%empty, %low) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %e, dense<0xFF800000> : tensor<2xf32>

  %i = stablehlo.constant dense<[[100, -100], [127, 1]]> : tensor<2x2xi8>
  %wide = stablehlo.dot_general %i, %i, contracting_dims = [1] x [0] : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  check.expect_eq_const %wide, dense<[[-2700, -10100], [12827, -12699]]> : tensor<2x2xi32>
  %h = stablehlo.constant dense<[[1.0, 0.00390625], [2.0, 3.0]]> : tensor<2x2xbf16>
  %f = stablehlo.dot_general %h, %h, contracting_dims = [1] x [1] : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xf32>
  check.expect_eq_const %f, dense<[[1.0000152587890625, 2.01171875], [2.01171875, 13.0]]> : tensor<2x2xf32>
  return
}
