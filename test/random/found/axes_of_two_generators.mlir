// A cut along the second dimension was tried for bits that have none.
module {
  func.func public @main(%0: tensor<ui16> {jax.buffer_donor = true}, %1: tensor<2xui64>, %2: tensor<i32>, %3: tensor<3x2xui32> {jax.buffer_donor = true}, %4: tensor<ui64> {jax.buffer_donor = true}, %5: tensor<ui64>, %6: tensor<i32>, %7: tensor<ui64>) -> (tensor<1x2x1x1xui64>, tensor<2xui64>, tensor<ui64>, tensor<i32>, tensor<1xui64>) {
    %8 = stablehlo.constant dense<0.0e+00> : tensor<3x3xf32>
    %9:2 = stablehlo.rng_bit_generator %1, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<1x2xui64>)
    %10 = stablehlo.reshape %9#0 : (tensor<2xui64>) -> tensor<1x2x1x1xui64>
    %11 = stablehlo.reshape %1 : (tensor<2xui64>) -> tensor<2xui64>
    %12 = stablehlo.and %11, %1 : tensor<2xui64>
    %13:2 = stablehlo.rng_bit_generator %11, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6x6xui64>)
    %14:2 = stablehlo.rng_bit_generator %13#0, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui32>)
    %15 = stablehlo.constant dense<0> : tensor<i32>
    %16:3 = stablehlo.while(%17 = %15, %18 = %11, %19 = %14#1) : tensor<i32>, tensor<2xui64>, tensor<ui32>
     cond {
      %40 = stablehlo.constant dense<3> : tensor<i32>
      %41 = stablehlo.and %2, %40 : tensor<i32>
      %20 = stablehlo.compare LT, %17, %41, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %20 : tensor<i1>
    } do {
      %21 = chlo.conj %14#0 : tensor<2xui64> -> tensor<2xui64>
      %22 = stablehlo.concatenate %13#0, %18, %12, dim = 0 : (tensor<2xui64>, tensor<2xui64>, tensor<2xui64>) -> tensor<6xui64>
      %23 = "stablehlo.gather"(%13#1, %3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 6, 1>}> : (tensor<6x6xui64>, tensor<3x2xui32>) -> tensor<3x6x1xui64>
      %24 = stablehlo.convert %15 : (tensor<i32>) -> tensor<f32>
      %25 = stablehlo.constant dense<1> : tensor<i32>
      %26 = stablehlo.add %17, %25 : tensor<i32>
      stablehlo.return %26, %12, %19 : tensor<i32>, tensor<2xui64>, tensor<ui32>
    }
    %27 = stablehlo.broadcast_in_dim %16#1, dims = [0] : (tensor<2xui64>) -> tensor<2xui64>
    %28 = stablehlo.multiply %14#0, %9#0 : tensor<2xui64>
    %29 = stablehlo.add %16#1, %28 : tensor<2xui64>
    %30 = stablehlo.pad %28, %4, low = [0], high = [0], interior = [0] : (tensor<2xui64>, tensor<ui64>) -> tensor<2xui64>
    %31 = stablehlo.reduce(%28 init: %5) applies stablehlo.maximum across dimensions = [0] : (tensor<2xui64>, tensor<ui64>) -> tensor<ui64>
    %32 = "stablehlo.gather"(%14#0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1>}> : (tensor<2xui64>, tensor<i32>) -> tensor<1xui64>
    %33 = stablehlo.multiply %5, %7 : tensor<ui64>
    %34 = stablehlo.complex %8, %8 : tensor<3x3xcomplex<f32>>
    %35 = stablehlo.count_leading_zeros %15 : tensor<i32>
    return %10, %29, %33, %16#0, %32 : tensor<1x2x1x1xui64>, tensor<2xui64>, tensor<ui64>, tensor<i32>, tensor<1xui64>
  }
}
