// Neighbouring elements as one word of 2 to 16 bytes, which a thread reads or writes at once. The words of a
// thread are single variables, which stay in registers, and their elements are spelled out: functions that
// take words apart cost a fifth of the compile time, most of it to inline them again.
//
// Elements of 4 bytes and more are the fields of a struct, smaller ones bits of unsigned integers.
#pragma once

#include <string>

#include "kernels/cuda/ops.h"

namespace stator::kernels::cuda {

struct Word {
    graph::DType dtype;
    int bytes;  // 2 to 16, at least two elements; one of 16 bytes
};

std::string word_type(Word w, Uses& uses);
// Element `e` of the word named `name`, as it is in memory.
std::string word_element(Word w, const std::string& name, int e);
// A statement that makes `value`, a name or an element of an array, element `e`. Those before it are set.
std::string set_word_element(Word w, const std::string& name, int e, const std::string& value);

}  // namespace stator::kernels::cuda
