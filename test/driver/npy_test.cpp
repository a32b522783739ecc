#include "driver/npy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "support/file.h"

namespace ullage {
namespace {

// Written by NumPy 2: savez_compressed(w=arange(6, dtype=float32).reshape(2, 3), k=array(7,
// dtype=uint32)), and save(asfortranarray(arange(6, dtype=int16).reshape(2, 3))).
constexpr std::string_view kCompressedArchive =
    "504b03042d0000000800000021004fe9002affffffffffffffff05001400772e6e7079010010009800000000000000"
    "550000"
    "00000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12"
    "774bcc"
    "294e058a17672416a402f91a463a0ac69a3a0ab50a64032e063068b007120e4004c40d40bcc00100504b03042d0000"
    "000800"
    "000021001f920913ffffffffffffffff050014006b2e6e707901001000840000000000000046000000000000009bec"
    "17ea1b"
    "10c9c850c650ad9e925a9c5ca46ea5a06e536aa2aea3a09e965f54529498179f5f94920a12774bcc294e058a176724"
    "16a402"
    "f91a9a3a0ab50a14012e7606060600504b01022d032d0000000800000021004fe9002a550000009800000005000000"
    "000000"
    "0000000000800100000000772e6e7079504b01022d032d0000000800000021001f9209134600000084000000050000"
    "000000"
    "00000000000080018c0000006b2e6e7079504b0506000000000200020066000000090100000000";
constexpr std::string_view kFortranFile =
    "934e554d5059010076007b276465736372273a20273c6932272c2027666f727472616e5f6f72646572273a20547275"
    "652c20"
    "277368617065273a2028322c2033292c207d2020202020202020202020202020202020202020202020202020202020"
    "202020"
    "2020202020202020202020202020202020202020202020202020200a000003000100040002000500";

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> out;
  for (size_t i = 0; i < text.size(); i += 2)
    out.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return out;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string npy(std::string_view header, std::string_view data) {
  std::string out("\x93NUMPY\1\0", 8);
  out += static_cast<char>(header.size());
  out += '\0';
  return out + std::string(header) + std::string(data);
}

std::string problem(std::string_view header, std::string_view data) {
  Result<NpyArray> array = read_npy(bytes_of(npy(header, data)), "x.npy");
  return array.ok() ? "accepted" : to_string(array.diagnostics());
}

template <typename T>
std::vector<T> elements(const NpyArray& array, const Type& type) {
  std::vector<T> out(static_cast<size_t>(type.num_elements()));
  Status status = copy_elements(array, type, std::as_writable_bytes(std::span(out)), "argument 0");
  EXPECT_TRUE(status.ok()) << to_string(status.diagnostics());
  return out;
}

TEST(Npy, ReadsWhatNumpyCompressed) {
  std::vector<std::byte> file = from_hex(kCompressedArchive);
  Result<std::vector<NpyArray>> arrays = read_npz(file, "x.npz");
  ASSERT_TRUE(arrays.ok()) << to_string(arrays.diagnostics());
  ASSERT_EQ(arrays->size(), 2u);
  EXPECT_EQ((*arrays)[0].name, "w");
  EXPECT_EQ(elements<float>((*arrays)[0], Type::tensor(DType::f32, {2, 3})),
            (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ((*arrays)[1].name, "k");
  EXPECT_EQ(elements<uint32_t>((*arrays)[1], Type::tensor(DType::ui32, {})),
            std::vector<uint32_t>{7});
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  std::vector<std::byte> file = from_hex(kFortranFile);
  Result<NpyArray> array = read_npy(file, "x.npy");
  ASSERT_TRUE(array.ok());
  EXPECT_TRUE(array->fortran_order);
  EXPECT_EQ(elements<int16_t>(*array, Type::tensor(DType::i16, {2, 3})),
            (std::vector<int16_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, HeaderVariants) {
  std::string_view data("\1\0\0\0\2\0\0\0", 8);
  for (const char* header : {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }  \n",
                             "{\"shape\":(2L,),\"fortran_order\":True,\"descr\":\"<i4\"}"}) {
    std::string file = npy(header, data);
    Result<NpyArray> array = read_npy(bytes_of(file), "x.npy");
    ASSERT_TRUE(array.ok()) << to_string(array.diagnostics());
    EXPECT_EQ(elements<int32_t>(*array, Type::tensor(DType::i32, {2})),
              (std::vector<int32_t>{1, 2}));
  }
  EXPECT_EQ(problem("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 7)}", ""), "accepted");
}

TEST(Npy, RawItemsAreTakenForTypesThatNumpyCannotName) {
  std::string file = npy("{'descr': '<V2', 'fortran_order': False, 'shape': (2,)}",
                         std::string_view("\x80\x3f\0\x40", 4));
  Result<NpyArray> array = read_npy(bytes_of(file), "x.npy");
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(elements<uint16_t>(*array, Type::tensor(DType::bf16, {2})),
            (std::vector<uint16_t>{0x3f80, 0x4000}));
  std::vector<std::byte> out(4);
  EXPECT_FALSE(copy_elements(*array, Type::tensor(DType::i16, {2}), out, "argument 0").ok());
}

TEST(Npy, BooleansAreNormalised) {
  std::string file =
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", std::string_view("\0\1\7", 3));
  Result<NpyArray> array = read_npy(bytes_of(file), "x.npy");
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(elements<uint8_t>(*array, Type::tensor(DType::i1, {3})),
            (std::vector<uint8_t>{0, 1, 1}));
}

TEST(Npy, MismatchNamesBothSides) {
  std::string file = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}", "abcd");
  Result<NpyArray> array = read_npy(bytes_of(file), "x.npy");
  ASSERT_TRUE(array.ok());
  std::vector<std::byte> out(8);
  Status status = copy_elements(*array, Type::tensor(DType::f32, {2}), out, "argument 3");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(to_string(status.diagnostics()),
            "error: argument 3 needs tensor<2xf32>, but 'x.npy' holds f32 of shape (1, 1)\n");
}

TEST(Npy, WhatIsWrongIsSaid) {
  EXPECT_EQ(problem("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "abcd"),
            "error: 'x.npy': big-endian element type '>f4' is not supported\n");
  EXPECT_EQ(problem("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "abcd"),
            "error: 'x.npy': '|O' is no element type\n");
  EXPECT_EQ(problem("{'descr': '<U4', 'fortran_order': False, 'shape': (1,)}", "abcd"),
            "error: 'x.npy': element type '<U4' is not supported\n");
  EXPECT_EQ(problem("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd"),
            "error: 'x.npy': structured element types are not supported\n");
  EXPECT_EQ(
      problem("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "abcd"),
      "error: 'x.npy': shape (2) of 4-byte elements does not match the 4 bytes that follow\n");
  EXPECT_EQ(problem("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905, 4)}",
                    "abcd"),
            "error: 'x.npy': shape (4611686018427387905, 4) of 4-byte elements does not match the "
            "4 bytes that follow\n");
  EXPECT_EQ(problem("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", ""),
            "error: 'x.npy': its shape is damaged\n");
  EXPECT_EQ(problem("{'descr': '<f4', 'shape': (1,)}", "abcd"),
            "error: 'x.npy': its header is incomplete\n");
  EXPECT_EQ(problem("{'descr': '<f4', 'extra': 1, 'shape': (1,)}", "abcd"),
            "error: 'x.npy': its header has an unexpected key 'extra'\n");
  EXPECT_EQ(to_string(read_npy(bytes_of("hello"), "x.npy").diagnostics()),
            "error: 'x.npy': not an .npy file\n");
  EXPECT_EQ(to_string(read_npz(bytes_of("hello"), "x.npz").diagnostics()),
            "error: 'x.npz': not an .npz archive, or cut off\n");
}

TEST(Npy, EveryTruncationIsRefused) {
  for (std::string_view text : {kCompressedArchive, kFortranFile}) {
    std::vector<std::byte> file = from_hex(text);
    for (size_t size = 0; size < file.size(); ++size) {
      std::vector<std::byte> cut(
          file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));  // exact, for sanitizers
      if (text == kCompressedArchive) {
        EXPECT_FALSE(read_npz(cut, "x.npz").ok()) << size;
      } else {
        EXPECT_FALSE(read_npy(cut, "x.npy").ok()) << size;
      }
    }
  }
}

TEST(Npy, ADamagedByteNeverGivesOtherElements) {
  std::vector<std::byte> good = from_hex(kCompressedArchive);
  const Type type = Type::tensor(DType::f32, {2, 3});
  for (size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> file = good;
      file[at] ^= static_cast<std::byte>(1 << bit);
      Result<std::vector<NpyArray>> arrays = read_npz(file, "x.npz");
      if (!arrays.ok() || arrays->empty()) continue;
      std::vector<float> out(6);
      if (!copy_elements(arrays->front(), type, std::as_writable_bytes(std::span(out)),
                         "argument 0")
               .ok())
        continue;
      EXPECT_EQ(out, (std::vector<float>{0, 1, 2, 3, 4, 5})) << "byte " << at << " bit " << bit;
    }
  }
}

TEST(Npy, Zip64AndEncryptionAreRefusedByName) {
  std::vector<std::byte> file = from_hex(kCompressedArchive);
  // The first entry of the directory: flags at 8, sizes at 20 and 24.
  const char signature[] = "PK\1\2";
  auto entry = std::search(file.begin(), file.end(), std::as_bytes(std::span(signature)).begin(),
                           std::as_bytes(std::span(signature)).begin() + 4);
  ASSERT_NE(entry, file.end());
  std::vector<std::byte> encrypted = file;
  encrypted[static_cast<size_t>(entry - file.begin()) + 8] |= std::byte{1};
  EXPECT_EQ(to_string(read_npz(encrypted, "x.npz").diagnostics()),
            "error: 'x.npz:w.npy': encrypted members are not supported\n");
  std::fill_n(entry + 24, 4, std::byte{0xff});
  EXPECT_EQ(to_string(read_npz(file, "x.npz").diagnostics()),
            "error: 'x.npz:w.npy': zip64 archives are not supported\n");
}

TEST(Npy, WrittenFilesAreReadBack) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const std::vector<uint16_t> b = {0x3f80, 0x4000};
  const NamedArray arrays[] = {
      {"out0", Type::tensor(DType::f32, {3, 2}), std::as_bytes(std::span(a))},
      {"out1", Type::tensor(DType::bf16, {2}), std::as_bytes(std::span(b))},
      {"out2", Type::tensor(DType::f32, {}), std::as_bytes(std::span(a)).first(4)}};
  std::string path = ::testing::TempDir() + "ullage_npy_test.npz";
  ASSERT_TRUE(write_npz(path, arrays).ok());
  Result<FileBytes> file = FileBytes::open(path);
  ASSERT_TRUE(file.ok());
  Result<std::vector<NpyArray>> back = read_npz(file->bytes(), path);
  ASSERT_TRUE(back.ok()) << to_string(back.diagnostics());
  ASSERT_EQ(back->size(), 3u);
  EXPECT_EQ((*back)[0].name, "out0");
  EXPECT_EQ(elements<float>((*back)[0], arrays[0].type), a);
  EXPECT_EQ(elements<uint16_t>((*back)[1], arrays[1].type), b);
  EXPECT_EQ(elements<float>((*back)[2], arrays[2].type), std::vector<float>{1});

  path = ::testing::TempDir() + "ullage_npy_test.npy";
  ASSERT_TRUE(write_npy(path, arrays[0]).ok());
  file = FileBytes::open(path);
  Result<NpyArray> single = read_npy(file->bytes(), path);
  ASSERT_TRUE(single.ok()) << to_string(single.diagnostics());
  EXPECT_EQ(elements<float>(*single, arrays[0].type), a);
}

}  // namespace
}  // namespace ullage
