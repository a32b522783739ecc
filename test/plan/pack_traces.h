// Buffers as training steps make them, for the packing tests: parameters and optimiser state alive
// throughout, activations alive from the forward to the backward pass, short temporaries, gradients
// alive until their update.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/pack.h"

namespace ullage::testing {

// Collects buffers along a clock that advances by one per kernel.
class TraceBuilder {
 public:
  int64_t now() const { return now_; }
  void tick() { ++now_; }
  size_t begin(int64_t size) {
    buffers_.push_back({now_, open, (size + 63) / 64 * 64, -1, 64});
    return buffers_.size() - 1;
  }
  // The buffer is read by the kernel of this moment and by none later.
  void end(size_t buffer) { buffers_[buffer].upper = now_ + 1; }
  std::vector<PackBuffer> finish() {
    for (PackBuffer& b : buffers_)
      if (b.upper == open) b.upper = now_ + 1;
    return buffers_;
  }

 private:
  static constexpr int64_t open = INT64_MAX;
  int64_t now_ = 0;
  std::vector<PackBuffer> buffers_;
};

struct TraceShape {
  int64_t layers = 16;
  int64_t batch = 256, width = 512, hidden = 2048, heads = 8, sequence = 128;
  bool checkpoint = false;    // keep only the inputs of layers, compute the rest again
  bool fused_update = false;  // update a parameter as soon as its gradient exists
};

// Two matrix products and an activation a layer.
inline std::vector<PackBuffer> mlp_trace(const TraceShape& s) {
  TraceBuilder t;
  int64_t f = 4, wide = s.batch * s.hidden * f, narrow = s.batch * s.width * f;
  int64_t weight = s.width * s.hidden * f;
  for (int64_t l = 0; l < s.layers * 2 * 3; ++l) t.begin(weight);  // weights, two moments
  std::vector<size_t> inputs{t.begin(narrow)}, pre, post;
  auto forward = [&](bool keep) {
    t.tick();
    size_t a = t.begin(wide);
    t.tick();
    size_t b = t.begin(wide);
    t.tick();
    if (keep) {
      pre.push_back(a);
      post.push_back(b);
    } else {
      t.end(a);
      t.end(b);
    }
  };
  for (int64_t l = 0; l < s.layers; ++l) {
    forward(!s.checkpoint);
    inputs.push_back(t.begin(narrow));
  }
  std::vector<size_t> gradients;
  size_t cotangent = t.begin(narrow);
  for (int64_t l = s.layers; l-- > 0;) {
    t.tick();
    t.end(inputs[l + 1]);
    if (s.checkpoint) forward(true);
    auto gradient = [&] {
      t.tick();
      size_t g = t.begin(weight);
      if (s.fused_update) {
        t.tick();
        t.end(g);
      } else {
        gradients.push_back(g);
      }
    };
    gradient();
    t.tick();
    size_t d_post = t.begin(wide);
    t.end(post.back());
    t.end(cotangent);
    t.tick();
    size_t d_pre = t.begin(wide);
    t.end(d_post);
    t.end(pre.back());
    pre.pop_back();
    post.pop_back();
    gradient();
    t.tick();
    cotangent = t.begin(narrow);
    t.end(d_pre);
  }
  t.end(inputs[0]);
  for (size_t g : gradients) {
    t.tick();
    t.end(g);
  }
  return t.finish();
}

// Attention and a feed-forward block a layer, with layer norms and residuals.
inline std::vector<PackBuffer> gpt_trace(const TraceShape& s) {
  TraceBuilder t;
  int64_t f = 4, x = s.batch * s.width * f, wide = s.batch * s.hidden * f;
  int64_t square = s.batch / s.sequence * s.heads * s.sequence * s.sequence * f;
  int64_t weights[] = {s.width * s.width * 3 * f, s.width * s.width * f, s.width * s.hidden * f,
                       s.width * s.hidden * f, s.width * f * 2};
  for (int64_t l = 0; l < s.layers; ++l)
    for (int64_t w : weights) t.begin(w * 3);
  int64_t sizes[] = {x, s.batch * f, 3 * x, x, square, square, x, x, x, s.batch * f, wide, wide, x};
  std::vector<size_t> inputs, saved;
  auto forward = [&](bool keep) {
    std::vector<size_t> live;
    for (int64_t size : sizes) {
      t.tick();
      live.push_back(t.begin(size));
      // A temporary of every kernel that is gone after the next one.
      size_t scratch = t.begin(size / 4 + 64);
      t.tick();
      t.end(scratch);
      if (!keep && live.size() > 3) t.end(live[live.size() - 4]);
    }
    if (!keep)
      for (size_t k = live.size() - 3; k < live.size(); ++k) t.end(live[k]);
    if (keep) saved = live;
  };
  std::vector<std::vector<size_t>> kept;
  for (int64_t l = 0; l < s.layers; ++l) {
    inputs.push_back(t.begin(x));
    forward(!s.checkpoint);
    kept.push_back(saved);
  }
  size_t logits = t.begin(wide * 4);
  t.tick();
  size_t cotangent = t.begin(x);
  t.end(logits);
  std::vector<size_t> gradients;
  for (int64_t l = s.layers; l-- > 0;) {
    if (s.checkpoint) {
      forward(true);
      kept[l] = saved;
    }
    size_t incoming = cotangent;
    for (size_t k = kept[l].size(); k-- > 0;) {
      t.tick();
      size_t next = t.begin(sizes[k]);
      if (k % 3 == 0) {
        size_t g = t.begin(weights[k / 3]);
        if (s.fused_update) {
          t.tick();
          t.end(g);
        } else {
          gradients.push_back(g);
        }
      }
      t.end(incoming);
      t.end(kept[l][k]);
      incoming = next;
    }
    t.tick();
    cotangent = t.begin(x);
    t.end(incoming);
    t.end(inputs[l]);
  }
  for (size_t g : gradients) {
    t.tick();
    t.end(g);
  }
  return t.finish();
}

}  // namespace ullage::testing
