# What C++ programs link.
ullage_shared_library(ullage_shared api ullage)
