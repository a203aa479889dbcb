// What the attempts at building one region have found out about its loop.
//
// Much is known only when the loop has been followed: that a variable becomes one that may be either, that a
// list is stored to, that two variables share an array. Then all of it is built again with that known.
//
// What must stay true: this is all that an attempt takes over from those before it, beside the budget and
// what follows from the code alone (Builder::attempt clears what is its own). Nothing in here names a value,
// a block or a version of a region that was given up. Attempts add to it and take nothing back, but that a
// variable may become another variant (Builder::widen).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/cpython/code.h"
#include "frontend/regions/build/built_region.h"
#include "frontend/regions/routines/library.h"
#include "frontend/regions/sequence.h"
#include "frontend/regions/value.h"

namespace stator::frontend::regions {

// An attribute that the region stores to: the object, the name, and how the object is reached, step by step,
// from a slot of the frame (or -1). Or a global: the dict, and the name.
struct StoredPlace {
    PyRef object, name;
    int from;
    std::vector<std::pair<EntrySource, PyRef>> path;
    bool is_global = false;
};

// What NumPy answered when it was asked what a call gives.
struct Probed {
    bool known;
    HostResult gives;
    std::string why;
};

struct Findings {
    // ---- places: others below are told by the path that leads to them ----
    // Of the path below, code and return_pc: the path.
    std::map<std::tuple<int, const CodeInfo*, int>, int> paths;
    std::set<std::pair<int, int>> crowded;  // by path and instruction: there were too many versions of it
    std::map<const CodeInfo*, std::vector<char>> done;  // instructions that some version of some attempt does

    // ---- variables ----
    // Of path, header and local (from -1 down: stored places): what it is there.
    std::map<std::tuple<int, int, int>, Value> variants;
    std::set<int> predicted;  // headers of the region's own frame
    // By variable: the entry slots whose arrays it may hold, and others that it was given the array of.
    std::map<int, std::set<int>> held_slots, held_from;
    std::set<std::pair<int, int>> shared;  // pairs of memory_of that turned out not to be apart
    std::vector<StoredPlace> stored_places;

    // ---- objects that were there at entry ----
    std::map<PyObject*, std::optional<RowsKind>> row_kinds;
    std::map<PyObject*, std::optional<DType>> item_dtypes;  // of sequences
    std::set<PyObject*> indexed;                            // lists of rows that are tables
    std::set<PyObject*> tables;                             // lists that are stored to
    std::set<PyObject*> rolled;  // what loops run over as arrays, else each item has a version of the loop
    std::set<PyObject*> texts;   // strings that are data

    std::map<std::string, Probed> probed;  // by call
};

}  // namespace stator::frontend::regions
