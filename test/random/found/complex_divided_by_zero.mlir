module {
  func.func public @main(%c: tensor<8xi1>) -> (tensor<8xcomplex<f32>>, tensor<8xcomplex<f64>>) {
    %z = stablehlo.constant dense<(-0.0, 0.0)> : tensor<8xcomplex<f32>>
    %one = stablehlo.constant dense<(1.0, 0.5)> : tensor<8xcomplex<f32>>
    %w = stablehlo.constant dense<(0.0, -0.0)> : tensor<8xcomplex<f64>>
    %two = stablehlo.constant dense<(2.0, 0.5)> : tensor<8xcomplex<f64>>
    %a = stablehlo.constant dense<(1.0, -2.0)> : tensor<8xcomplex<f32>>
    %b = stablehlo.constant dense<(-3.0, 1.0)> : tensor<8xcomplex<f64>>
    %s = stablehlo.select %c, %z, %one : tensor<8xi1>, tensor<8xcomplex<f32>>
    %t = stablehlo.select %c, %w, %two : tensor<8xi1>, tensor<8xcomplex<f64>>
    %0 = stablehlo.divide %a, %s : tensor<8xcomplex<f32>>
    %1 = stablehlo.divide %b, %t : tensor<8xcomplex<f64>>
    return %0, %1 : tensor<8xcomplex<f32>>, tensor<8xcomplex<f64>>
  }
}
