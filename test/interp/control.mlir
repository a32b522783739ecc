// Loops, branches and calls; values from outside a region; state updated in place.
func.func private @twice(%x: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.add %x, %x : tensor<i32>
  return %0 : tensor<i32>
}
func.func @main() {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<5> : tensor<i32>
  %start = stablehlo.constant dense<0> : tensor<5xi32>
  // table[i] = 2 * i + (inner loop: i times 1)
  %r:2 = "stablehlo.while"(%zero, %start) ({
  ^bb0(%i: tensor<i32>, %t: tensor<5xi32>):
    %c = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %t: tensor<5xi32>):
    %d = func.call @twice(%i) : (tensor<i32>) -> tensor<i32>
    %inner:2 = "stablehlo.while"(%zero, %d) ({
    ^bb0(%k: tensor<i32>, %s: tensor<i32>):
      %c = stablehlo.compare LT, %k, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }, {
    ^bb0(%k: tensor<i32>, %s: tensor<i32>):
      %k1 = stablehlo.add %k, %one : tensor<i32>
      %s1 = stablehlo.add %s, %one : tensor<i32>
      stablehlo.return %k1, %s1 : tensor<i32>, tensor<i32>
    }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %element = stablehlo.reshape %inner#1 : (tensor<i32>) -> tensor<1xi32>
    %t1 = stablehlo.dynamic_update_slice %t, %element, %i : (tensor<5xi32>, tensor<1xi32>, tensor<i32>) -> tensor<5xi32>
    %i1 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %i1, %t1 : tensor<i32>, tensor<5xi32>
  }) : (tensor<i32>, tensor<5xi32>) -> (tensor<i32>, tensor<5xi32>)
  check.expect_eq_const %r#0, dense<5> : tensor<i32>
  check.expect_eq_const %r#1, dense<[0, 3, 6, 9, 12]> : tensor<5xi32>
  check.expect_eq_const %start, dense<0> : tensor<5xi32>

  // An index out of range takes the last branch.
  %minus = stablehlo.constant dense<-3> : tensor<i32>
  %branch = "stablehlo.case"(%minus) ({
    stablehlo.return %zero : tensor<i32>
  }, {
    %x = stablehlo.add %limit, %one : tensor<i32>
    stablehlo.return %x : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %branch, dense<6> : tensor<i32>
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %chosen = "stablehlo.if"(%yes) ({
    stablehlo.return %limit : tensor<i32>
  }, {
    stablehlo.return %zero : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  check.expect_eq_const %chosen, dense<5> : tensor<i32>
  %b:2 = stablehlo.optimization_barrier %chosen, %branch : tensor<i32>, tensor<i32>
  check.expect_eq_const %b#1, dense<6> : tensor<i32>
  return
}
