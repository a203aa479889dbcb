// A loop that has been built as a region: its graph, what it is entered with, what has to be so at entry, and
// where Python goes on when it is left.
//
// What must stay true: once built it stays as it is (a region that runs has it as const), except for what
// guards remember (Pinned::version), and it does not refer to the frame that it was built from: entering
// finds all objects anew.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/cpython/code.h"
#include "frontend/cpython/frame.h"
#include "frontend/regions/routines/library.h"
#include "frontend/regions/value.h"
#include "graph/region/region.h"
#include "guards/check/check.h"

namespace stator::frontend::regions {

// Where Python goes on (resume.cpp): in the region's own frame and those of functions that it was
// following.
struct ResumePoint {
    struct Stop {
        const CodeInfo* code;
        PyObject* function;  // nullptr: the region's own frame
        int function_slot;   // as Level's
        int pc;              // the next instruction; of all but the last, the call that is going on
        std::vector<Value> slots;
    };
    std::vector<Stop> frames;  // the region's own first
    // Into Region::exits, once something leaves here: then the ids of its Values are places in the exit's
    // values.
    int exit = -1;
};
using ResumeRef = std::shared_ptr<ResumePoint>;

// A name that the region looked up while it was built: `dict[key]` must still be `value`.
struct Pinned {
    PyRef dict, key, value;
    PyRef module = {};             // whose attribute it is read as: it may get a class that answers otherwise
    mutable uint64_t version = 0;  // of the dict when it was last seen to hold
};

// A function whose code is part of the region.
struct Followed {
    PyRef function, code, defaults, kwdefaults;
};

// An object that is reached from the frame at entry (sources.cpp). Its slot is its place behind the
// frame's own.
struct EntrySource {
    enum Kind : uint8_t {
        Item,          // number `index` of a tuple or list
        Bound,         // start (`index` 0), stop or step of a slice
        Attribute,     // `name`, found at `place`; a method is `object`
        Cell,          // contents of a cell
        FunctionCell,  // cell number `index` of a function's closure
        State,         // number `index` of what an iterator tells of itself, which is `count` objects
        Global,        // `name` in dict `object`
        DictItem,      // of key `name`, a string
        BoundTo,       // what the method `object` is bound to
        Constant       // `object` itself
    } kind;
    int parent = -1;  // slot of what it is reached from; -1: `object`
    PyRef object{}, name{};
    int index = 0, count = 0;
    guards::GuardProgram::AttrPlace place = guards::GuardProgram::AttrPlace::Unreadable;
};

constexpr int64_t kPlural = 2;  // extents of arrays from here on are one kind

// What an input is read from when the region is entered.
struct EntryInput {
    enum Kind : uint8_t {
        Int,
        Float,
        Bool,
        Scalar,
        Array,
        RangeNext,
        RangeLeft,
        RangeStep,
        IterPosition,
        Real,  // parts of a Python complex
        Imaginary,
        ScalarReal,  // parts of a NumPy scalar of a complex dtype, whose parts are of `dtype`
        ScalarImaginary,
        Sequence,   // an array of the items of a list, tuple or string (sequence.h)
        Rows,       // an array of two axes of the items of all rows of a list or tuple
        RowItems,   // the same as one of one axis, where rows are not equally long, and
        RowStarts,  // where they begin in that
        List,       // the address of a list that is appended to
        Object      // the address of an object whose method is called
    } kind;
    int slot;
    DType dtype = DType::F64;
    int rank = 0;
    bool contiguous = false, written = false;
    bool ordered = false;            // Array: strides do not grow
    bool backward = false;           // Array: of one axis, whose stride is negative
    std::vector<int64_t> extents{};  // Array: as they were when the region was built; 0 and 1 are guarded,
                                     // and so is that others are neither
    bool of_iterator = false;        // Array: the one that the iterator in the slot runs over
    bool is_copied() const { return kind >= Sequence && kind <= RowStarts; }
    bool is_memory() const { return kind == Array || is_copied(); }
    ValueId value = -1;
};

// A region as the frontend knows it: the graph, how it is entered and how it is left.
struct BuiltRegion {
    std::shared_ptr<graph::Region> graph;
    std::vector<EntryInput> inputs;  // as Region::inputs
    // What no code reads, but by whose kind, or an extent of 0 or 1, something was decided.
    std::vector<EntryInput> guarded;
    std::vector<EntrySource> sources;
    std::vector<std::pair<int, PyRef>> same;  // entry slots that must hold these objects
    std::vector<std::pair<int, PyRef>>
        same_code;  // ... or a function that differs from this one in its cells only
    std::vector<std::pair<int, int>> aliases;  // ... or the object that is in the other slot
    std::set<std::pair<int, int>> apart;       // ... or another object
    struct Length {
        int slot;
        PyTypeObject* type;  // tuple or list
        Py_ssize_t items;
    };
    std::vector<Length> lengths;
    std::vector<int> empty;  // entry slots that must be empty
    // Rows are lists of their own: none may be one that something else shows where one of them changes.
    bool rows_change = false;
    // Attributes and globals that the region stores to (stored_places.cpp): what they hold lies behind the
    // locals of the region's own frame in all its states.
    struct Cell {
        int owner, slot;  // entry slots of the object, -1 of a global, and of what is there under the name
        PyRef name, globals;
    };
    std::vector<Cell> cells;
    std::vector<Pinned> pinned;
    std::vector<Followed> functions;
    std::vector<ResumeRef> exits;  // as Region::exits
    std::vector<PyRef> objects;    // that Values refer to
    int depth = 0;                 // of the frame's slots at entry
    struct LeftOut {
        const CodeInfo* code;
        int pc;
        std::string detail;
        bool in_part = false;  // other versions of the loop do it themselves
    };
    std::vector<LeftOut> left_out;           // instructions that Python does: the region leaves before them
    std::map<int, LibraryRoutine> routines;  // by index into Region::calls
    bool raises = false;                     // some exit stands for a floating-point condition
    int deepest = 0;                         // calls of functions inside each other
    // Local 0 is a comprehension's name for the iterator that it also has on the stack: nothing reads it.
    bool hidden_iterator = false;
    bool draws = false;  // from a generator of random numbers: cannot be done once more
};

// "Entry slots" of arrays that the region makes: each site has its own memory.
inline constexpr int kFreshSlots = 1000;
// Faults that nests and routines leave for: divide, overflow, invalid. Underflow is ignored by default, and
// guarded to be.
inline constexpr int64_t kFlags = 1 | 2 | 8;

// How many references there are to what is in slot `slot` of the frame, an iterator, when nobody else has it.
Py_ssize_t own_references(const BuiltRegion& b, const Frame& f, int slot);

// What is in the frame's slots and what `sources` leads to. False when something is not there.
bool find_objects(const BuiltRegion& b, Frame& f, std::vector<PyObject*>* slots, std::vector<PyRef>* owned);

// As Python names what is in an entry slot of a region of `code`.
std::string source_text(const BuiltRegion& b, const CodeInfo& code, int slot);

// Whether no row of a list is shown by anything else that the region looks into or changes, where one of them
// changes. `slots`: as find_objects finds them.
bool rows_apart(const BuiltRegion& b, const std::vector<PyObject*>& slots);

}  // namespace stator::frontend::regions
