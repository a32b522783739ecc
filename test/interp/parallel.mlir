// Several processes, which communicate. Values are told apart by their process: replica r and
// partition p bring 100 r + 10 p and a little more.
module @ids {
  func.func private @id() -> (tensor<ui32>, tensor<ui32>) {
    %r = stablehlo.replica_id : tensor<ui32>
    %p = stablehlo.partition_id : tensor<ui32>
    return %r, %p : tensor<ui32>, tensor<ui32>
  }
  func.func public @main() {
    %0:12 = "interpreter.run_parallel"() {programs = [[@id, @id], [@id, @id], [@id, @id]]} : () -> (tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>)
    check.expect_eq_const %0#0, dense<0> : tensor<ui32>
    check.expect_eq_const %0#1, dense<0> : tensor<ui32>
    check.expect_eq_const %0#2, dense<0> : tensor<ui32>
    check.expect_eq_const %0#3, dense<1> : tensor<ui32>
    check.expect_eq_const %0#4, dense<1> : tensor<ui32>
    check.expect_eq_const %0#10, dense<2> : tensor<ui32>
    check.expect_eq_const %0#11, dense<1> : tensor<ui32>
    return
  }
}

// -----

// The four ways to name groups, in a grid of two replicas and two partitions.
module @groups {
  func.func private @sums(%x: tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) : (tensor<2xi64>) -> tensor<2xi64>
    %1 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[1], [0]]> : tensor<2x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 7, type = 0>}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) : (tensor<2xi64>) -> tensor<2xi64>
    %2 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 3, 2], [1, -1, -1]]> : tensor<2x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 8, type = 0>, use_global_device_ids}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.subtract %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) : (tensor<2xi64>) -> tensor<2xi64>
    return %0, %1, %2 : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>
  }
  func.func public @main() {
    %00 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %01 = stablehlo.constant dense<[11, 12]> : tensor<2xi64>
    %10 = stablehlo.constant dense<[101, 102]> : tensor<2xi64>
    %11 = stablehlo.constant dense<[111, 112]> : tensor<2xi64>
    %0:12 = "interpreter.run_parallel"(%00, %01, %10, %11) {programs = [[@sums, @sums], [@sums, @sums]]} : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
    // Across replicas, of each partition.
    check.expect_eq_const %0#0, dense<[102, 104]> : tensor<2xi64>
    check.expect_eq_const %0#3, dense<[122, 124]> : tensor<2xi64>
    check.expect_eq_const %0#6, dense<[102, 104]> : tensor<2xi64>
    check.expect_eq_const %0#9, dense<[122, 124]> : tensor<2xi64>
    // Of one replica, across its partitions.
    check.expect_eq_const %0#1, dense<[12, 14]> : tensor<2xi64>
    check.expect_eq_const %0#10, dense<[212, 214]> : tensor<2xi64>
    // Processes by their own numbers, in the order named; one alone.
    check.expect_eq_const %0#2, dense<[-211, -212]> : tensor<2xi64>
    check.expect_eq_const %0#5, dense<[11, 12]> : tensor<2xi64>
    check.expect_eq_const %0#8, dense<[-211, -212]> : tensor<2xi64>
    return
  }
}

// -----

// Across partitions, and what reaches processes that nobody sends anything.
module @moves {
  func.func private @moves(%x: tensor<2x2xi32>) -> (tensor<1x4xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>) {
    %0 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<2x2xi32>) -> tensor<1x4xi32>
    %1 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %2 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %3 = "stablehlo.cross-replica-sum"(%2) <{replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<2x2xi32>) -> tensor<2x2xi32>
    return %0, %1, %2, %3 : tensor<1x4xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>
  }
  func.func public @main() {
    %00 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %01 = stablehlo.constant dense<[[11, 12], [13, 14]]> : tensor<2x2xi32>
    %10 = stablehlo.constant dense<[[101, 102], [103, 104]]> : tensor<2x2xi32>
    %11 = stablehlo.constant dense<[[111, 112], [113, 114]]> : tensor<2x2xi32>
    %20 = stablehlo.constant dense<[[201, 202], [203, 204]]> : tensor<2x2xi32>
    %21 = stablehlo.constant dense<[[211, 212], [213, 214]]> : tensor<2x2xi32>
    %0:24 = "interpreter.run_parallel"(%00, %01, %10, %11, %20, %21) {programs = [[@moves, @moves], [@moves, @moves], [@moves, @moves]]} : (tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>) -> (tensor<1x4xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<1x4xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<1x4xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<1x4xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<1x4xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<1x4xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>)
    check.expect_eq_const %0#0, dense<[[13, 14, 3, 4]]> : tensor<1x4xi32>
    check.expect_eq_const %0#4, dense<[[11, 12, 1, 2]]> : tensor<1x4xi32>
    check.expect_eq_const %0#20, dense<[[211, 212, 201, 202]]> : tensor<1x4xi32>
    check.expect_eq_const %0#1, dense<[[101, 102], [103, 104]]> : tensor<2x2xi32>
    check.expect_eq_const %0#5, dense<[[111, 112], [113, 114]]> : tensor<2x2xi32>
    check.expect_eq_const %0#9, dense<[[101, 102], [103, 104]]> : tensor<2x2xi32>
    check.expect_eq_const %0#17, dense<0> : tensor<2x2xi32>
    check.expect_eq_const %0#2, dense<0> : tensor<2x2xi32>
    check.expect_eq_const %0#6, dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    check.expect_eq_const %0#22, dense<[[201, 202], [203, 204]]> : tensor<2x2xi32>
    check.expect_eq_const %0#3, dense<0> : tensor<2x2xi32>
    check.expect_eq_const %0#7, dense<[[303, 306], [309, 312]]> : tensor<2x2xi32>
    return
  }
}

// -----

// Several operands at once; what is gathered and scattered lies along any dimension; the same
// operation meets again in a loop.
module @gathers {
  func.func private @gathers(%x: tensor<2x1xf32>, %y: tensor<3xi8>) -> (tensor<2x4xf32>, tensor<12xi8>, tensor<1xi8>, tensor<2x1xf32>) {
    %0:2 = "stablehlo.all_gather"(%x, %x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    %1 = "stablehlo.all_gather"(%y) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> : (tensor<3xi8>) -> tensor<12xi8>
    %z = stablehlo.slice %1 [0:4] : (tensor<12xi8>) -> tensor<4xi8>
    %2 = "stablehlo.reduce_scatter"(%z) <{scatter_dimension = 0 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>}> ({
    ^bb0(%a: tensor<i8>, %b: tensor<i8>):
      %s = stablehlo.maximum %a, %b : tensor<i8>
      stablehlo.return %s : tensor<i8>
    }) : (tensor<4xi8>) -> tensor<1xi8>
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %w:2 = stablehlo.while(%i = %i0, %v = %x) : tensor<i32>, tensor<2x1xf32>
      cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %s = "stablehlo.all_reduce"(%v) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %sum = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %sum : tensor<f32>
        }) : (tensor<2x1xf32>) -> tensor<2x1xf32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %s : tensor<i32>, tensor<2x1xf32>
      }
    return %0#1, %1, %2, %w#1 : tensor<2x4xf32>, tensor<12xi8>, tensor<1xi8>, tensor<2x1xf32>
  }
  func.func public @main() {
    %x0 = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
    %x1 = stablehlo.constant dense<[[3.0], [4.0]]> : tensor<2x1xf32>
    %x2 = stablehlo.constant dense<[[5.0], [6.0]]> : tensor<2x1xf32>
    %x3 = stablehlo.constant dense<[[7.0], [8.0]]> : tensor<2x1xf32>
    %y0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi8>
    %y1 = stablehlo.constant dense<[4, 5, 6]> : tensor<3xi8>
    %0:16 = "interpreter.run_parallel"(%x0, %y0, %x1, %y1, %x2, %y0, %x3, %y1) {programs = [[@gathers, @gathers], [@gathers, @gathers]]} : (tensor<2x1xf32>, tensor<3xi8>, tensor<2x1xf32>, tensor<3xi8>, tensor<2x1xf32>, tensor<3xi8>, tensor<2x1xf32>, tensor<3xi8>) -> (tensor<2x4xf32>, tensor<12xi8>, tensor<1xi8>, tensor<2x1xf32>, tensor<2x4xf32>, tensor<12xi8>, tensor<1xi8>, tensor<2x1xf32>, tensor<2x4xf32>, tensor<12xi8>, tensor<1xi8>, tensor<2x1xf32>, tensor<2x4xf32>, tensor<12xi8>, tensor<1xi8>, tensor<2x1xf32>)
    // The replicas of the first partition, then those of the second.
    check.expect_eq_const %0#0, dense<[[1.0, 5.0, 3.0, 7.0], [2.0, 6.0, 4.0, 8.0]]> : tensor<2x4xf32>
    check.expect_eq_const %0#12, dense<[[1.0, 5.0, 3.0, 7.0], [2.0, 6.0, 4.0, 8.0]]> : tensor<2x4xf32>
    check.expect_eq_const %0#5, dense<[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]> : tensor<12xi8>
    // Group: replica 1 partition 0, replica 0 partition 0, then partition 1.
    check.expect_eq_const %0#2, dense<2> : tensor<1xi8>
    check.expect_eq_const %0#6, dense<4> : tensor<1xi8>
    check.expect_eq_const %0#10, dense<1> : tensor<1xi8>
    check.expect_eq_const %0#14, dense<3> : tensor<1xi8>
    check.expect_eq_const %0#3, dense<[[24.0], [32.0]]> : tensor<2x1xf32>
    check.expect_eq_const %0#15, dense<[[40.0], [48.0]]> : tensor<2x1xf32>
    return
  }
}

// -----

// A program on its own is the only process there is.
module @alone {
  func.func public @main() {
    %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    check.expect_eq %0, %x : tensor<2xf32>
    %p = stablehlo.partition_id : tensor<ui32>
    check.expect_eq_const %p, dense<0> : tensor<ui32>
    return
  }
}
