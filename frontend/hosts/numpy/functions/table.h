// NumPy's functions that are taught once, for traces and loops alike.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/hosts/numpy/functions/steps.h"

namespace stator::frontend::numpy {

struct Parameter {
    std::string name;
    bool optional = false, by_position = true, by_name = true;
    bool rest = false;  // all further positional arguments, as a tuple
};
using Parameters = std::vector<Parameter>;

// Names in order: `/` ends those without keywords, `*` begins those with keywords only, `=` marks those that
// may be left out, and for which None means the same, `*name` takes all further ones by position.
Parameters parse_parameters(std::string_view text);

// What NumPy's own call gives, by which traces hold it where a step is declined.
enum class Gives : uint8_t {
    Fresh,     // memory of its own
    Shares,    // it may be a view of an argument, or be it
    Rounded,   // fresh, but for ints that some NumPys give back
    Anything,  // memory that nobody has filled: traces leave it to Python
    Where,     // fresh, and with one argument its elements decide about the extents
};

struct Function {
    const char* where;       // as in CallRow (lower.h): "flip", ".swapaxes", "linalg.norm"
    const char* parameters;  // see parse_parameters
    // `p`: the arguments by parameter; what was left out is not given.
    Steps::Ref (*lower)(Steps& s, Steps::Refs p);
    Gives gives = Gives::Fresh;
};

// The rows, by family.
std::span<const Function> views();
std::span<const Function> elementwise();
std::span<const Function> reductions();
std::span<const Function> assembly();
std::span<const Function> creation();
std::span<const Function> lookup();

const Parameters& parameters_of(const Function& f);

}  // namespace stator::frontend::numpy
