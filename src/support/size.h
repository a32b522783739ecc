// Sizes in bytes as people write them: "1.5GiB", "300MB", "4096".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ullage {

// Accepts a non-negative decimal number, with a fraction if need be, and one of B, KiB, MiB, GiB,
// TiB, kB, MB, GB, TB or nothing (bytes). Returns nothing when the text is anything else or the
// size exceeds 2^62 bytes. Rounds down.
std::optional<int64_t> parse_size(std::string_view text);

// Binary units with up to three significant digits: "512 B", "1.39 GiB".
std::string format_size(int64_t bytes);

}  // namespace ullage
