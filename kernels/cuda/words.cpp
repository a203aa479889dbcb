#include "kernels/cuda/words.h"

namespace stator::kernels::cuda {

namespace {

using graph::DType;

constexpr const char* kFields[] = {"x", "y", "z", "w"};
constexpr int kPart = 4;  // bytes of one field of a word of small elements

int size_of(DType t) { return graph::info(t).size; }
bool small(Word w) { return size_of(w.dtype) < kPart; }
bool whole(Word w) { return size_of(w.dtype) == w.bytes; }

// The integer of which a small element is a part, and how many bits lie below it.
std::string part(Word w, const std::string& name, int e) {
    return w.bytes <= kPart ? name : name + "." + kFields[e * size_of(w.dtype) / kPart];
}
int shift(Word w, int e) { return 8 * (e * size_of(w.dtype) % kPart); }

}  // namespace

std::string word_type(Word w, Uses& uses) {
    if (small(w)) return w.bytes == 16 ? "uint4" : w.bytes == 8 ? "uint2" : w.bytes == 4 ? "u32" : "u16";
    std::string type(memory_type(w.dtype));
    if (whole(w)) return type;
    type += "x" + std::to_string(w.bytes / size_of(w.dtype));
    uses.insert(type);
    return type;
}

std::string word_element(Word w, const std::string& name, int e) {
    if (whole(w)) return name;
    if (!small(w)) return name + "." + kFields[e];
    const int below = shift(w, e);
    const std::string bits =
        below ? "(" + part(w, name, e) + " >> " + std::to_string(below) + ")" : part(w, name, e);
    const std::string type(memory_type(w.dtype));
    const bool half = w.dtype == DType::F16 || w.dtype == DType::BF16;
    return half ? type + "{(u16)" + bits + "}" : "(" + type + ")" + bits;
}

std::string set_word_element(Word w, const std::string& name, int e, const std::string& value) {
    if (whole(w)) return name + " = " + value + ";";
    if (!small(w)) return name + "." + kFields[e] + " = " + value + ";";
    const int below = shift(w, e);
    const bool half = w.dtype == DType::F16 || w.dtype == DType::BF16;
    const std::string bits = half ? value + ".bits" : (size_of(w.dtype) == 1 ? "(u8)" : "(u16)") + value;
    const std::string target = part(w, name, e);
    return below ? target + " |= (u32)" + bits + " << " + std::to_string(below) + ";"
                 : target + " = " + bits + ";";
}

}  // namespace stator::kernels::cuda
