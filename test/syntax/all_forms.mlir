// One operation of every kind in the form that StableHLO's tools print. Shapes and types are legal.
module @all_forms attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @unary(%f: tensor<2x3xf32>, %i: tensor<2x3xi32>, %c: tensor<2x3xcomplex<f32>>, %p: tensor<2x3xi1>) -> tensor<2x3xf32> {
    %0 = stablehlo.abs %f : tensor<2x3xf32>
    %1 = stablehlo.abs %c : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    %2 = stablehlo.cbrt %f : tensor<2x3xf32>
    %3 = stablehlo.ceil %f : tensor<2x3xf32>
    %4 = stablehlo.convert %f : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %5 = stablehlo.convert %f : tensor<2x3xf32>
    %6 = stablehlo.cosine %f : tensor<2x3xf32>
    %7 = stablehlo.count_leading_zeros %i : tensor<2x3xi32>
    %8 = stablehlo.exponential %f : tensor<2x3xf32>
    %9 = stablehlo.exponential_minus_one %f : tensor<2x3xf32>
    %10 = stablehlo.floor %f : tensor<2x3xf32>
    %11 = stablehlo.imag %c : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    %12 = stablehlo.is_finite %f : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %13 = stablehlo.log %f : tensor<2x3xf32>
    %14 = stablehlo.log_plus_one %f : tensor<2x3xf32>
    %15 = stablehlo.logistic %f : tensor<2x3xf32>
    %16 = stablehlo.negate %f : tensor<2x3xf32>
    %17 = stablehlo.not %p : tensor<2x3xi1>
    %18 = stablehlo.popcnt %i : tensor<2x3xi32>
    %19 = stablehlo.real %c : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    %20 = stablehlo.reduce_precision %f, format = e5m10 : tensor<2x3xf32>
    %21 = stablehlo.round_nearest_afz %f : tensor<2x3xf32>
    %22 = stablehlo.round_nearest_even %f : tensor<2x3xf32>
    %23 = stablehlo.rsqrt %f : tensor<2x3xf32>
    %24 = stablehlo.sign %f : tensor<2x3xf32>
    %25 = stablehlo.sine %f : tensor<2x3xf32>
    %26 = stablehlo.sqrt %f : tensor<2x3xf32>
    %27 = stablehlo.tan %f : tensor<2x3xf32>
    %28 = stablehlo.tanh %f {result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = 0.0, ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  func.func private @binary(%f: tensor<4xf32>, %i: tensor<4xi32>, %p: tensor<4xi1>, %s: tensor<f32>) -> (tensor<4xf32>, tensor<4xi1>) {
    %0 = stablehlo.add %f, %f : tensor<4xf32>
    %1 = stablehlo.and %p, %p : tensor<4xi1>
    %2 = stablehlo.atan2 %f, %f : tensor<4xf32>
    %3 = stablehlo.compare LT, %f, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %4 = stablehlo.compare GE, %f, %f, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %5 = stablehlo.complex %f, %f : tensor<4xcomplex<f32>>
    %6 = stablehlo.divide %f, %f : tensor<4xf32>
    %7 = stablehlo.maximum %f, %f : tensor<4xf32>
    %8 = stablehlo.minimum %f, %f : tensor<4xf32>
    %9 = stablehlo.multiply %f, %f : tensor<4xf32>
    %10 = stablehlo.or %p, %p : tensor<4xi1>
    %11 = stablehlo.power %f, %f : tensor<4xf32>
    %12 = stablehlo.remainder %f, %f : tensor<4xf32>
    %13 = stablehlo.shift_left %i, %i : tensor<4xi32>
    %14 = stablehlo.shift_right_arithmetic %i, %i : tensor<4xi32>
    %15 = stablehlo.shift_right_logical %i, %i : tensor<4xi32>
    %16 = stablehlo.subtract %f, %f : tensor<4xf32>
    %17 = stablehlo.xor %p, %p : tensor<4xi1>
    %18 = stablehlo.clamp %f, %f, %f : tensor<4xf32>
    %19 = stablehlo.clamp %s, %f, %s : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %20 = stablehlo.select %p, %f, %f : tensor<4xi1>, tensor<4xf32>
    %21 = "stablehlo.map"(%f, %f) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %22 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %22 : tensor<f32>
    }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0, %3 : tensor<4xf32>, tensor<4xi1>
  }
  func.func private @chlo(%f: tensor<4xf32>, %c: tensor<4xcomplex<f32>>) {
    %0 = chlo.acos %f : tensor<4xf32> -> tensor<4xf32>
    %1 = chlo.bessel_i1e %f : tensor<4xf32> -> tensor<4xf32>
    %2 = chlo.conj %c : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %3 = chlo.is_inf %f : tensor<4xf32> -> tensor<4xi1>
    %4 = chlo.next_after %f, %f : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %5 = chlo.polygamma %f, %f : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %6 = chlo.zeta %f, %f : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %values, %indices = chlo.top_k(%f, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    return
  }
  func.func private @ragged(%l: tensor<11x5xf32>, %r: tensor<3x5x7xf32>, %g: tensor<3xi64>) {
    %0 = "chlo.ragged_dot"(%l, %r, %g) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGH>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
    return
  }
  func.func private @movement(%x: tensor<4x6xf32>, %s: tensor<f32>, %k: tensor<i32>, %idx: tensor<2x1xi32>, %upd: tensor<2x6xf32>) {
    %0 = stablehlo.bitcast_convert %x : (tensor<4x6xf32>) -> tensor<4x6xui32>
    %1 = stablehlo.broadcast %x, sizes = [2] : (tensor<4x6xf32>) -> tensor<2x4x6xf32>
    %2 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<4x6xf32>) -> tensor<2x4x6xf32>
    %3 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %4 = stablehlo.dynamic_slice %x, %k, %k, sizes = [1, 2] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %5 = stablehlo.dynamic_update_slice %x, %4, %k, %k : (tensor<4x6xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    %6 = "stablehlo.gather"(%x, %idx) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
    %7 = stablehlo.iota dim = 1 : tensor<4x6xi32>
    %8 = stablehlo.pad %x, %s, low = [0, -1], high = [1, 0], interior = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<5x10xf32>
    %9 = stablehlo.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
    %10 = stablehlo.reverse %x, dims = [0, 1] : tensor<4x6xf32>
    %11 = "stablehlo.scatter"(%x, %idx, %upd) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<2x1xi32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %12 = stablehlo.slice %x [0:4:2, 1:6] : (tensor<4x6xf32>) -> tensor<2x5xf32>
    %13 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %14 = "stablehlo.torch_index_select"(%x, %k) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x6xf32>, tensor<i32>) -> tensor<6xf32>
    return
  }
  func.func private @dynamic(%x: tensor<?x4xf32>, %n: tensor<2xi32>, %s: tensor<f32>, %i: tensor<i32>) {
    %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [0, 1] : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %1 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %2 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi32>) -> tensor<?x4xf32>
    %3 = stablehlo.dynamic_pad %x, %s, %n, %n, %n : (tensor<?x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    %4 = stablehlo.dynamic_reshape %x, %n : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %5 = stablehlo.real_dynamic_slice %x, %n, %n, %n : (tensor<?x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    %6 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %7 = stablehlo.set_dimension_size %4, %6, dim = 1 : (tensor<?x?xf32>, tensor<i32>) -> tensor<?x?xf32>
    return
  }
  func.func private @bounded(%x: tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>> {
    return %x : tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  }
  func.func private @reductions(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %s: tensor<f32>, %z: tensor<i32>, %src: tensor<2x3xf32>) {
    %0 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>
    %1:2 = stablehlo.reduce(%x init: %s), (%i init: %z) across dimensions = [1] : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
      %9 = stablehlo.maximum %a, %b : tensor<f32>
      %10 = stablehlo.minimum %c, %d : tensor<i32>
      stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
    }
    %2 = "stablehlo.reduce_window"(%x, %s) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %9 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
    %3 = "stablehlo.select_and_scatter"(%x, %src, %s) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %9 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %9 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
    %4:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %9 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
    return
  }
  func.func private @products(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %m: tensor<3x3xf32>, %img: tensor<1x8x8x2xf32>, %ker: tensor<3x3x2x4xf32>, %pad: tensor<2x2xi32>) {
    %0 = stablehlo.dot %m, %m, precision = [HIGHEST, DEFAULT] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %1 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGH, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    %2 = stablehlo.dot_general %m, %m, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %3 = stablehlo.convolution(%img, %ker) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x4x5x4xf32>
    %4 = "stablehlo.dynamic_conv"(%img, %ker, %pad) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>, tensor<2x2xi32>) -> tensor<1x?x?x4xf32>
    %5 = stablehlo.cholesky %m, lower = true : tensor<3x3xf32>
    %6 = "stablehlo.triangular_solve"(%m, %m) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %7 = stablehlo.einsum %m, %m, config = "ab,bc->ac" : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %8 = stablehlo.unary_einsum %m, config = "ab->a" : (tensor<3x3xf32>) -> tensor<3xf32>
    %9 = stablehlo.fft %m, type = RFFT, length = [3] : (tensor<3x3xf32>) -> tensor<3x2xcomplex<f32>>
    return
  }
  func.func private @normalization(%x: tensor<2x4xf32>, %v: tensor<4xf32>) {
    %0:3 = "stablehlo.batch_norm_training"(%x, %v, %v) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %1 = "stablehlo.batch_norm_inference"(%x, %v, %v, %v, %v) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %2:3 = "stablehlo.batch_norm_grad"(%x, %v, %v, %v, %x) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
    return
  }
  func.func private @random(%a: tensor<f32>, %shape: tensor<2xi64>, %state: tensor<2xui64>) {
    %0 = stablehlo.rng %a, %a, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
    %output_state, %output = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    return
  }
  func.func private @scalar_add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %a, %b : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @control(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
    %0 = stablehlo.create_token : !stablehlo.token
    %1 = stablehlo.after_all %0, %0 : !stablehlo.token
    %2 = stablehlo.tuple %x, %0 : tuple<tensor<4xf32>, !stablehlo.token>
    %3 = stablehlo.get_tuple_element %2[0] : (tuple<tensor<4xf32>, !stablehlo.token>) -> tensor<4xf32>
    %4:2 = stablehlo.optimization_barrier %x, %s : tensor<4xf32>, tensor<f32>
    stablehlo.optimization_barrier()
    %5 = func.call @scalar_add(%s, %s) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %6 = stablehlo.composite "my.add" %s, %s {composite_attributes = {kind = "plain", n = 3 : i64}, decomposition = @scalar_add, version = 2 : i32} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %7 = stablehlo.custom_call @target(%x) {api_version = 4 : i32, backend_config = {a = 1 : i64, b = "two"}, has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
    %8 = stablehlo.custom_call @"odd name"(%x, %x) {backend_config = "a \22quoted\22 text", called_computations = [@scalar_add], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %9 = "stablehlo.if"(%p) ({
      stablehlo.return %x : tensor<4xf32>
    }, {
      %12 = stablehlo.negate %x : tensor<4xf32>
      stablehlo.return %12 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %10 = "stablehlo.case"(%i) ({
      stablehlo.return %x : tensor<4xf32>
    }, {
      stablehlo.return %9 : tensor<4xf32>
    }, {
      stablehlo.return %7 : tensor<4xf32>
    }) {mhlo.frontend_attributes = {note = "three"}} : (tensor<i32>) -> tensor<4xf32>
    %11:2 = stablehlo.while(%iterArg = %i, %iterArg_0 = %10) : tensor<i32>, tensor<4xf32> attributes {mhlo.note = "loop"}
    cond {
      %12 = stablehlo.compare LT, %iterArg, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %12 : tensor<i1>
    } do {
      stablehlo.return %iterArg, %iterArg_0 : tensor<i32>, tensor<4xf32>
    }
    return %11#1 : tensor<4xf32>
  }
  func.func private @collectives(%x: tensor<4x8xf32>, %t: !stablehlo.token) {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<4x16xf32>
    %1 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, -1]]> : tensor<1x4xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %9 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %3 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %4 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %5 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %9 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %6 = stablehlo.partition_id : tensor<ui32>
    %7 = stablehlo.replica_id : tensor<ui32>
    %8:2 = "stablehlo.infeed"(%t) <{infeed_config = "config", layout = [[0, 1]]}> : (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token)
    %10 = "stablehlo.outfeed"(%x, %t) <{outfeed_config = "config"}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    %11:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token)
    %12 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    return
  }
  func.func private @shardings(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) attributes {no_inline} {
    %0 = sdy.sharding_constraint %x <@mesh, [{"x"}, {"y", ?}]> : tensor<8x16xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%arg: tensor<4x4xf32>) {
      %2 = stablehlo.add %arg, %arg : tensor<4x4xf32>
      sdy.return %2 : tensor<4x4xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
  func.func private @constants() {
    %0 = stablehlo.constant dense<[[1.0, -2.5e-3], [0x7F800000, 0xFFC00000]]> : tensor<2x2xf32>
    %1 = stablehlo.constant dense<> : tensor<0x3xi32>
    %2 = stablehlo.constant dense<"0x0100000002000000"> : tensor<2xi32>
    %3 = stablehlo.constant dense<[(1.0, -1.0), (0.0, 2.0)]> : tensor<2xcomplex<f64>>
    %4 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %5 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
    %6 = stablehlo.constant dense<[0, 18446744073709551615]> : tensor<2xui64>
    %7 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
    %8 = stablehlo.constant dense<[1.0, 448.0]> : tensor<2xf8E4M3FN>
    %9 = stablehlo.constant dense<[1.0, 3.140625]> : tensor<2xbf16>
    %10 = stablehlo.constant {mhlo.frontend_attributes = {a = "b"}} dense<3> : tensor<ui8>
    return
  }
}
