// See texts.h.
#include "frontend/drive/texts.h"

#include <cstdint>
#include <unordered_map>

namespace stator::frontend {

namespace {

// Of names and of where they stand in the text; equal for code that was compiled from the same lines. It
// leaves an exception alone that a call is on its way out with: strings, bytes and tuples of strings always
// have a hash.
uint64_t key_of(PyCodeObject* code) {
    uint64_t key = 0;
    const auto mix = [&](uint64_t x) { key = (key ^ x) * 0x9E3779B97F4A7C15u + 1; };
    for (PyObject* part : {code->co_qualname, code->co_filename, code->co_names, code->co_linetable})
        mix(static_cast<uint64_t>(PyObject_Hash(part)));
    mix(static_cast<uint64_t>(code->co_firstlineno));
    mix(static_cast<uint64_t>(Py_SIZE(code)));
    return key;
}

std::unordered_map<uint64_t, Text>& texts() {
    static auto* all = new std::unordered_map<uint64_t, Text>;
    return *all;
}

}  // namespace

Text& text_of(PyCodeObject* code) {
    if (texts().size() >= policy().most_texts) texts().clear();
    return texts()[key_of(code)];
}

void forget_texts() { texts().clear(); }

}  // namespace stator::frontend
