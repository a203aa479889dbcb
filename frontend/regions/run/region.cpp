// Entering and leaving. See region.h.

#include "frontend/regions/run/region.h"

#include <alloca.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "frontend/clock.h"
#include "frontend/cpython/collection.h"
#include "frontend/cpython/iterators.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/policy.h"
#include "frontend/profile/doing.h"
#include "frontend/regions/entry.h"
#include "frontend/regions/routines/library.h"
#include "frontend/regions/sequence.h"
#include "frontend/services.h"
#include "guards/check/functions.h"

namespace stator::frontend::regions {

namespace {

using kernels::RegionArgs;

// ---- what scalar calls call ----

// Python's float % and //, without its check for 0 (the region has made it).
double py_mod(double v, double w) {
    double mod = std::fmod(v, w);
    if (mod != 0) {
        if ((w < 0) != (mod < 0)) mod += w;
    } else {
        mod = std::copysign(0.0, w);
    }
    return mod;
}

double py_floordiv(double v, double w) {
    double mod = std::fmod(v, w);
    double div = (v - mod) / w;
    if (mod != 0) {
        if ((w < 0) != (mod < 0)) {
            mod += w;
            div -= 1.0;
        }
    }
    if (div == 0) return std::copysign(0.0, v / w);
    double floored = std::floor(div);
    if (div - floored > 0.5) floored += 1.0;
    return floored;
}

void* scalar_function(const std::string& name) {
    if (name == "pow") return reinterpret_cast<void*>(static_cast<double (*)(double, double)>(&std::pow));
    if (name == "py_mod") return reinterpret_cast<void*>(&py_mod);
    if (name == "py_floordiv") return reinterpret_cast<void*>(&py_floordiv);
    return math_function(name);
}

// np.dot takes vectors of one element for numbers: a product that is -0.0 stays so.
template <class T>
void np_dot(void* a, int64_t a_stride, void* b, int64_t b_stride, void* out, int64_t n, void* ignored) {
    static auto* const dot =
        PyDataType_GetArrFuncs(numpy::descr_of(sizeof(T) == sizeof(double) ? DType::F64 : DType::F32))
            ->dotfunc;
    if (n == 1)
        *static_cast<T*>(out) = *static_cast<T*>(a) * *static_cast<T*>(b);
    else
        dot(a, a_stride, b, b_stride, out, n, ignored);
}

void* dot_function(const graph::RegionCall& c) {
    if (c.name == "np.dot")
        return c.types[0] == DType::F64 ? reinterpret_cast<void*>(&np_dot<double>)
                                        : reinterpret_cast<void*>(&np_dot<float>);
    return reinterpret_cast<void*>(PyDataType_GetArrFuncs(numpy::descr_of(c.types[0]))->dotfunc);
}

int64_t grown = 0;  // how often memory was asked for

// Gets all pages of what has been allocated at once, which takes a fraction of what faults one by one do. Of
// more than a cache holds, pages would have left it again before they are written to: there large ones save
// the most.
void fetch_pages(char* memory, size_t bytes) {
    constexpr uintptr_t kPage = 4096;
    constexpr size_t kFew = size_t{128} << 10, kMany = size_t{2} << 20;
    if (bytes < kFew) return;
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + kPage - 1) & ~(kPage - 1);
    const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) & ~(kPage - 1);
    // MADV_POPULATE_WRITE, which older headers lack; an older system says that it does not know it.
    constexpr int kPopulate = 23;
    madvise(reinterpret_cast<void*>(begin), end - begin, bytes < kMany ? kPopulate : MADV_HUGEPAGE);
}

bool grow(RegionArgs::ScratchCell* cell, int64_t bytes) {
    ++grown;
    std::free(cell->memory);
    const size_t padded = (static_cast<size_t>(bytes) + 127) & ~size_t{63};
    cell->memory = static_cast<char*>(std::aligned_alloc(64, padded));
    cell->bytes = cell->memory ? static_cast<int64_t>(padded) : 0;
    if (cell->memory) fetch_pages(cell->memory, padded);
    return cell->memory != nullptr;
}

// Whether it is `was`, or the same function made once more, with other cells.
bool same_function(PyObject* o, PyObject* was) {
    if (o == was) return true;
    if (!o || !guards::is_function(o)) return false;
    return PyFunction_GET_CODE(o) == PyFunction_GET_CODE(was) &&
           PyFunction_GET_GLOBALS(o) == PyFunction_GET_GLOBALS(was) &&
           PyFunction_GET_DEFAULTS(o) == PyFunction_GET_DEFAULTS(was) &&
           PyFunction_GET_KW_DEFAULTS(o) == PyFunction_GET_KW_DEFAULTS(was);
}

}  // namespace

EntryKind classify(PyObject* o) {
    EntryKind k;
    if (PyBool_Check(o)) {
        k.kind = EntryKind::Bool;
    } else if (PyLong_CheckExact(o)) {
        int overflow = 0;
        PyLong_AsLongLongAndOverflow(o, &overflow);
        if (!overflow) k.kind = EntryKind::Int;
    } else if (PyFloat_CheckExact(o)) {
        k.kind = EntryKind::Float;
    } else if (PyComplex_CheckExact(o)) {
        k.kind = EntryKind::Complex;
    } else if (PyTuple_CheckExact(o)) {
        if (PyTuple_GET_SIZE(o) <= policy().region_entry_items) k.kind = EntryKind::Tuple;
    } else if (PyList_CheckExact(o)) {
        if (PyList_GET_SIZE(o) <= policy().region_entry_items) k.kind = EntryKind::List;
    } else if (PySlice_Check(o)) {
        k.kind = EntryKind::Slice;
    } else if (is_range_iter(o)) {
        k.kind = EntryKind::RangeIter;
    } else if (is_array_iter(o)) {
        k.kind = EntryKind::ArrayIter;
    } else if (Py_TYPE(o) == &PyEnum_Type || Py_TYPE(o) == &PyZip_Type || Py_TYPE(o) == &PyReversed_Type ||
               is_sequence_iter(o)) {
        k.kind = EntryKind::Compound;
    } else if (PyArray_CheckExact(o)) {
        auto* a = reinterpret_cast<PyArrayObject*>(o);
        const int number = PyArray_TYPE(a);
        if (const std::optional<graph::DType> t = graph::dtype_numbered(number)) {
            k.dtype = *t;
            const bool plain = PyArray_ISNOTSWAPPED(a) && PyArray_ISALIGNED(a) && PyArray_NDIM(a) >= 1 &&
                               PyArray_NDIM(a) <= 8;
            bool known = true;
            k.backward = PyArray_NDIM(a) == 1 && PyArray_STRIDE(a, 0) < 0;
            for (int d = 0; d < PyArray_NDIM(a); ++d)
                known &= (PyArray_STRIDE(a, d) >= 0 || k.backward) &&
                         PyArray_STRIDE(a, d) % graph::info(*t).size == 0;
            if (plain && known && PyArray_DESCR(a) == numpy::descr_of(k.dtype)) k.kind = EntryKind::Array;
        }
        k.ordered = true;
        for (int d = 1; d < PyArray_NDIM(a); ++d)
            k.ordered &= PyArray_STRIDE(a, d) <= PyArray_STRIDE(a, d - 1);
        k.rank = PyArray_NDIM(a);
        // Strides of axes of extent 1, too, which NumPy ignores here: a part of it shows them.
        k.contiguous = PyArray_IS_C_CONTIGUOUS(a);
        npy_intp dense = PyArray_ITEMSIZE(a);
        for (int d = PyArray_NDIM(a) - 1; d >= 0 && k.contiguous; dense *= PyArray_DIM(a, d), --d)
            k.contiguous = PyArray_STRIDE(a, d) == dense;
    } else if (PyArray_CheckScalar(o) && PyArray_IsScalar(o, Generic)) {
        PyArray_Descr* d = PyArray_DescrFromScalar(o);
        const int number = d ? d->type_num : -1;
        Py_XDECREF(d);
        PyErr_Clear();
        const std::optional<graph::DType> t = graph::dtype_numbered(number);
        if (t && *t != graph::DType::F16 && Py_TYPE(o) == numpy::descr_of(*t)->typeobj) {
            k.kind = graph::is_complex(*t) ? EntryKind::ComplexScalar : EntryKind::Scalar;
            k.dtype = *t;
        }
    }
    return k;
}

CompiledRegion::CompiledRegion(std::unique_ptr<BuiltRegion> built, std::string name, bool fastmath,
                               bool async, std::unique_ptr<DeviceRegion> device)
    : built_(std::move(built)),
      name_(std::move(name)),
      request_(std::make_shared<kernels::RegionRequest>()),
      device_(std::move(device)) {
    graph::Region& r = *built_->graph;
    r.name = name_;
    request_->name = name_;
    request_->region = built_->graph;
    request_->slot = std::make_shared<kernels::RegionSlot>();
    request_->fastmath = fastmath;
    request_->wait = !async;
    size_t most = 0;
    for (const graph::RegionExit& e : r.exits) {
        size_t n = 0;
        for (graph::ValueId v : e.values) n += static_cast<size_t>(slots_of(r.types[static_cast<size_t>(v)]));
        most = std::max(most, n);
        ways_.push_back(e.label == "end" ? Left::End : e.label == "poll" ? Left::Poll : Left::Check);
    }
    out_.resize((most + 1) * kSlot);
    taken.resize(r.exits.size());
    exit_slots_.resize(r.exits.size());
    scalars_.resize(built_->inputs.size() * kSlot);
    counts_ = std::ranges::any_of(r.blocks, [](const graph::Block& b) { return b.steps > 0; });
    writes_ = std::any_of(built_->inputs.begin(), built_->inputs.end(),
                          [](const EntryInput& in) { return in.kind == EntryInput::Array && in.written; });
    const bool stores =
        !built_->cells.empty() || std::ranges::any_of(built_->inputs, [](const EntryInput& in) {
            return in.kind != EntryInput::Array && in.written;
        });
    stores_behind_others_ = stores && std::ranges::any_of(built_->routines, [](const auto& routine) {
                                return routine.second.through_python;
                            });
    scratch_.resize(static_cast<size_t>(graph::scratch_cells(r) + graph::kMostSaved));
    if (device_)
        request_->slot->ready = true;
    else if (const kernels::CompilerApi* api = compiler())
        api->compile_region(*request_);
    else
        request_->slot->failed = true;
}

CompiledRegion::~CompiledRegion() {
    for (auto& cell : scratch_) std::free(cell.memory);
}

bool CompiledRegion::ready() const { return request_->slot->ready.load(std::memory_order_acquire); }
bool CompiledRegion::failed() const { return request_->slot->failed.load() || unresolvable_; }
std::string CompiledRegion::text() const { return graph::print(*built_->graph); }

bool CompiledRegion::resolve_calls() {
    if (resolved_) return !unresolvable_;
    resolved_ = true;
    for (const graph::RegionCall& c : built_->graph->calls) {
        kernels::RegionCallTarget t;
        switch (c.kind) {
            case graph::RegionCall::Scalar: t.fn = scalar_function(c.name); break;
            case graph::RegionCall::UfuncLoop: {
                const kernels::HostLoop loop = numpy::find_loop({c.name, c.types});
                t.fn = reinterpret_cast<void*>(loop.fn);
                t.data = loop.data;
                break;
            }
            case graph::RegionCall::Dot: t.fn = dot_function(c); break;
            case graph::RegionCall::Library: {
                const auto it = built_->routines.find(static_cast<int>(calls_.size()));
                if (it == built_->routines.end()) break;
                t.fn = reinterpret_cast<void*>(it->second.fn);
                t.data = it->second.data.get();
                break;
            }
        }
        unresolvable_ |= !t.fn;
        calls_.push_back(t);
    }
    return !unresolvable_;
}

// ---- entering ----

// Whether the place is nobody else's variable, and storing to it later than the program does is not seen.
bool CompiledRegion::can_store(const BuiltRegion::Cell& c) const {
    const auto& sources = built_->sources;
    if (c.globals) {
        // As an item of the dict, or as an attribute of an object that has it as its own.
        const bool read_otherwise = std::ranges::any_of(sources, [&](const EntrySource& s) {
            PyObject* const owner = s.parent >= 0 ? entry_[static_cast<size_t>(s.parent)] : nullptr;
            if (!owner) return false;
            return s.kind == EntrySource::DictItem ? owner == c.globals.get()
                   : s.kind == EntrySource::Attribute
                       ? guards::GuardProgram::dict_of(owner) == c.globals.get()
                       : false;
        });
        return !read_otherwise && guards::GuardProgram::can_store_global(c.globals.get(), c.name.get());
    }
    PyObject* owner = entry_[static_cast<size_t>(c.owner)];
    for (size_t i = 0; i < sources.size(); ++i) {
        const EntrySource& s = sources[i];
        if (s.kind != EntrySource::Attribute || built_->depth + static_cast<int>(i) == c.slot) continue;
        if (s.parent >= 0 && entry_[static_cast<size_t>(s.parent)] == owner &&
            PyUnicode_Compare(s.name.get(), c.name.get()) == 0)
            return false;
    }
    return guards::GuardProgram::can_store(owner, c.name.get());
}

bool CompiledRegion::is_watched() const {
    return std::ranges::any_of(built_->functions, [](const Followed& fn) {
        return frontend::is_watched(reinterpret_cast<PyCodeObject*>(fn.code.get()));
    });
}

bool CompiledRegion::refuse(Refusal r) {
    refusal_ = r;
    return false;
}

bool CompiledRegion::admit(Frame& f, std::vector<PyRef>* owned) {
    const BuiltRegion& b = *built_;
    entry_.clear();
    if (f.depth() != b.depth) return refuse({Refusal::OtherStack});
    if (is_watched()) return refuse({Refusal::Watched});
    if (stores_behind_others_ && has_other_threads(f.ts())) return refuse({Refusal::Threads});
    for (int i = 0; i < b.depth; ++i)
        if (!f.slot_is_object(i)) return refuse({Refusal::OtherStack});
    frame_ = &f;
    if (!find_objects(b, f, &entry_, owned))
        return refuse({Refusal::Lost, static_cast<int>(entry_.size()) - 1 - b.depth});
    return is_as_built(f);
}

// Whether what it is entered with is what it was built for, its inputs aside.
bool CompiledRegion::is_as_built(const Frame& f) {
    const BuiltRegion& b = *built_;
    const auto at = [&](int slot) { return entry_[static_cast<size_t>(slot)]; };
    const auto place = [](const auto& all, const auto& one) { return static_cast<int>(&one - all.data()); };
    for (const auto& [slot, o] : b.same)
        if (at(slot) != o.get()) return refuse({Refusal::OtherObject, slot});
    for (const auto& [slot, o] : b.same_code)
        if (!same_function(at(slot), o.get())) return refuse({Refusal::OtherFunction, slot});
    for (const auto& [slot, other] : b.aliases)
        if (at(slot) != at(other)) return refuse({Refusal::NotSame, slot, other});
    for (const auto& [slot, other] : b.apart)
        if (at(slot) == at(other)) return refuse({Refusal::NotApart, slot, other});
    for (int slot : b.empty)
        if (at(slot)) return refuse({Refusal::NotEmpty, slot});
    for (const auto& l : b.lengths)
        if (!at(l.slot) || Py_TYPE(at(l.slot)) != l.type || PySequence_Fast_GET_SIZE(at(l.slot)) != l.items)
            return refuse({Refusal::OtherLength, place(b.lengths, l)});
    for (const Pinned& p : b.pinned) {
        if (p.module && !PyModule_CheckExact(p.module.get()))
            return refuse({Refusal::Rebound, place(b.pinned, p)});
        const uint64_t version = guards::dict_version(p.dict.get());
        if (version && version == p.version) continue;
        if (PyDict_GetItem(p.dict.get(), p.key.get()) != p.value.get())
            return refuse({Refusal::Rebound, place(b.pinned, p)});
        p.version = version;
    }
    for (const Followed& fn : b.functions)
        if (PyFunction_GET_CODE(fn.function.get()) != fn.code.get() ||
            PyFunction_GET_DEFAULTS(fn.function.get()) != fn.defaults.get() ||
            PyFunction_GET_KW_DEFAULTS(fn.function.get()) != fn.kwdefaults.get())
            return refuse({Refusal::OtherCode, place(b.functions, fn)});
    for (const BuiltRegion::Cell& c : b.cells)
        if (!can_store(c)) return refuse({Refusal::NotStorable, place(b.cells, c)});
    if (b.deepest > 0 && recursion_left(f.ts()) < b.deepest) return refuse({Refusal::TooDeep});
    if (b.raises && numpy::faults_that_matter(kernels::kFaultUnderflow)) return refuse({Refusal::Underflow});
    return true;
}

// Making objects may collect garbage, whose finalizers could change what was read already.
bool CompiledRegion::enter(Frame& f, std::vector<PyRef>* owned) {
    const NoCollection quiet;
    return admit(f, owned) && read_inputs();
}

bool CompiledRegion::read_inputs() {
    copied_ = false;
    arrays_.clear();
    dims_.clear();
    scalar_count_ = 0;
    const auto& b = *built_;
    for (size_t i = 0; i < b.inputs.size(); ++i)
        if (!read_input(b.inputs[i], true)) return refuse({Refusal::OtherInput, static_cast<int>(i)});
    for (size_t i = 0; i < b.guarded.size(); ++i)
        if (!read_input(b.guarded[i], false)) return refuse({Refusal::OtherGuarded, static_cast<int>(i)});
    if (!disjoint()) return refuse({Refusal::Overlap});
    return rows_are_apart() || refuse({Refusal::RowsAreShared});
}

// A loop may be refused each time that it is arrived at: the sentence is made when it would be another one,
// and now and then.
Left CompiledRegion::not_entered() {
    ++refused;
    if (refusal_ != told_ || std::has_single_bit(static_cast<uint64_t>(refused))) {
        told_ = refusal_;
        why_refused = in_words(refusal_, *built_, *built_->exits.front()->frames.front().code, entry_);
        if (log_enabled(LogTopic::Guards)) log(LogTopic::Guards, "region " + name_ + ": " + why_refused);
    }
    return Left::NotEntered;
}

bool CompiledRegion::rows_are_apart() {
    if (!built_->rows_change) return true;
    const int64_t begun = thread_ns();
    const bool apart = rows_apart(*built_, entry_);
    copying_ns_ += thread_ns() - begun;
    return apart;
}

void CompiledRegion::hold_rows(const EntryInput& in, PyObject* o) {
    EntryRows& held = entry_rows_.emplace_back(EntryRows{in.slot, {}});
    held.rows.reserve(static_cast<size_t>(items_in(o)));
    for (Py_ssize_t i = 0; i < items_in(o); ++i)
        held.rows.push_back(PyRef::borrow(PySequence_Fast_GET_ITEM(o, i)));
}

// What was held while the code ran. Others may have put anything into the lists meanwhile, so that code may
// run here which enters the region once more.
void CompiledRegion::let_go() {
    if (stored_lists_.empty() && entry_rows_.empty()) return;
    const std::vector<StoredList> lists = std::exchange(stored_lists_, {});
    const std::vector<EntryRows> rows = std::exchange(entry_rows_, {});
}

namespace {

// Whether `classify` would say of it what it said of the input's array.
bool fits_array(PyObject* o, const EntryInput& in) {
    if (!PyArray_CheckExact(o)) return false;
    auto* a = reinterpret_cast<PyArrayObject*>(o);
    if (PyArray_DESCR(a) != numpy::descr_of(in.dtype) || PyArray_NDIM(a) != in.rank || !PyArray_ISALIGNED(a))
        return false;
    if (in.written && !PyArray_ISWRITEABLE(a)) return false;
    const npy_intp *extents = PyArray_DIMS(a), *strides = PyArray_STRIDES(a),
                   size = graph::info(in.dtype).size;
    npy_intp dense = size;
    for (int d = in.rank - 1; d >= 0; dense *= extents[d], --d) {
        // Sizes are powers of two.
        if ((strides[d] < 0) != in.backward || (strides[d] & (size - 1)) != 0) return false;
        if (in.contiguous && strides[d] != dense) return false;
        if (in.ordered && d > 0 && strides[d] > strides[d - 1]) return false;
        if (std::min<int64_t>(in.extents[static_cast<size_t>(d)], kPlural) !=
            std::min<int64_t>(extents[d], kPlural))
            return false;
    }
    return !in.contiguous || PyArray_IS_C_CONTIGUOUS(a);
}

}  // namespace

// Where the items of a list, tuple or string lie, or those of its rows. nullptr when they are of another
// kind.
const char* CompiledRegion::copy_items(const EntryInput& in, PyObject* o, std::array<int64_t, 2>* extents) {
    if (sequences_.size() <= arrays_.size()) sequences_.resize(arrays_.size() + 1);
    std::vector<char>& copy = sequences_[arrays_.size()];
    const char* data = nullptr;
    switch (in.kind) {
        case EntryInput::Sequence:
            data = sequence_data(o, in.dtype, &copy);
            if (data) *extents = {items_in(o), 0};
            return data;
        case EntryInput::RowStarts:
            if (!row_starts(o, &copy)) return nullptr;
            *extents = {items_in(o) + 1, 0};
            return copy.data();
        default: break;
    }
    if (!rows_data(o, in.dtype, &copy)) return nullptr;
    if (in.kind == EntryInput::RowItems)
        *extents = {static_cast<int64_t>(copy.size()) / graph::info(in.dtype).size, 0};
    else
        *extents = {items_in(o), items_in_each_row(o)};
    return (*extents)[1] >= 0 ? copy.data() : nullptr;
}

bool CompiledRegion::read_copied(const EntryInput& in, PyObject* o, bool keep) {
    const bool many = in.kind != EntryInput::Sequence || items_in(o) >= policy().copies_timed_from;
    const int64_t begun = many ? thread_ns() : 0;
    std::array<int64_t, 2> extents{};
    const char* data = copy_items(in, o, &extents);
    if (begun) copying_ns_ += thread_ns() - begun, copied_ = true;
    for (size_t d = 0; data && d < in.extents.size(); ++d)
        if (std::min(in.extents[d], kPlural) != std::min(extents[d], kPlural)) return false;
    if (data && (in.kind == EntryInput::Rows || in.kind == EntryInput::RowItems)) hold_rows(in, o);
    if (!data || !keep) return data != nullptr;
    const int64_t size = graph::info(in.dtype).size;
    if (in.written) {
        StoredList& s = stored_lists_.emplace_back();
        s.dtype = in.dtype;
        s.place = arrays_.size();
        s.before = sequences_[arrays_.size()];
        if (in.kind == EntryInput::Sequence)
            s.lists.push_back(PyRef::borrow(o));
        else
            s.lists = entry_rows_.back().rows;
        for (const PyRef& list : s.lists) {
            if (!PyList_CheckExact(list.get())) return false;
            s.items.push_back(static_cast<size_t>(items_in(list.get())));
        }
    }
    arrays_.push_back(const_cast<char*>(data));
    if (in.rank == 2)
        dims_.insert(dims_.end(), {extents[0], extents[1], extents[1] * size, size});
    else
        dims_.insert(dims_.end(), {extents[0], size});
    return true;
}

// Whether the input is of the kind that the region was built for; `keep`s what the code reads of it.
bool CompiledRegion::read_input(const EntryInput& in, bool keep) {
    const auto scalar = [&](const void* bits, size_t n) {
        if (keep) std::memcpy(scalars_.data() + kSlot * scalar_count_++, bits, n);
    };
    PyObject* o = entry_[static_cast<size_t>(in.slot)];
    if (!o) return false;
    // Of an iterator: the frame, or what it is in and we.
    const Py_ssize_t holders = in.slot < built_->depth ? own_references(*built_, *frame_, in.slot) : 2;
    switch (in.kind) {
        case EntryInput::Int: {
            int overflow = 0;
            if (!PyLong_CheckExact(o)) return false;
            const int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
            if (overflow) return false;
            scalar(&v, 8);
            break;
        }
        case EntryInput::Float: {
            if (!PyFloat_CheckExact(o)) return false;
            const double v = PyFloat_AS_DOUBLE(o);
            scalar(&v, 8);
            break;
        }
        case EntryInput::Bool: {
            if (!PyBool_Check(o)) return false;
            const char v = o == Py_True;
            scalar(&v, 1);
            break;
        }
        case EntryInput::Scalar: {
            if (Py_TYPE(o) != numpy::descr_of(in.dtype)->typeobj) return false;
            char bits[kSlot] = {};
            numpy::scalar_bits(o, bits);
            scalar(bits, kSlot);
            break;
        }
        case EntryInput::RangeNext:
        case EntryInput::RangeLeft:
        case EntryInput::RangeStep: {
            if (!is_range_iter(o) || Py_REFCNT(o) != holders) return false;
            const RangeState s = range_iter_state(o);
            const int64_t v = in.kind == EntryInput::RangeNext   ? s.next
                              : in.kind == EntryInput::RangeLeft ? s.left
                                                                 : s.step;
            scalar(&v, 8);
            break;
        }
        case EntryInput::IterPosition: {
            if (!is_array_iter(o) || Py_REFCNT(o) != holders) return false;
            const int64_t v = array_iter_state(o).position;
            scalar(&v, 8);
            break;
        }
        case EntryInput::Real:
        case EntryInput::Imaginary: {
            if (!PyComplex_CheckExact(o)) return false;
            const Py_complex z = PyComplex_AsCComplex(o);
            const double v = in.kind == EntryInput::Real ? z.real : z.imag;
            scalar(&v, 8);
            break;
        }
        case EntryInput::ScalarReal:
        case EntryInput::ScalarImaginary: {
            const graph::DType whole = in.dtype == graph::DType::F32 ? graph::DType::C64 : graph::DType::C128;
            if (Py_TYPE(o) != numpy::descr_of(whole)->typeobj) return false;
            char bits[kSlot] = {};
            numpy::scalar_bits(o, bits);
            const auto size = static_cast<size_t>(graph::info(in.dtype).size);
            scalar(bits + (in.kind == EntryInput::ScalarImaginary ? size : 0), size);
            break;
        }
        case EntryInput::List: {
            if (!PyList_CheckExact(o)) return false;
            const auto v = reinterpret_cast<int64_t>(o);
            scalar(&v, 8);
            break;
        }
        case EntryInput::Sequence:
        case EntryInput::Rows:
        case EntryInput::RowItems:
        case EntryInput::RowStarts: return read_copied(in, o, keep);
        case EntryInput::Object: {
            const auto v = reinterpret_cast<int64_t>(o);
            scalar(&v, 8);
            break;
        }
        case EntryInput::Array: {
            if (in.of_iterator) {
                if (!is_array_iter(o) || !(o = array_iter_state(o).array)) return false;
            }
            if (!fits_array(o, in)) return false;
            if (!keep) break;
            auto* a = reinterpret_cast<PyArrayObject*>(o);
            arrays_.push_back(PyArray_BYTES(a));
            dims_.insert(dims_.end(), PyArray_DIMS(a), PyArray_DIMS(a) + in.rank);
            dims_.insert(dims_.end(), PyArray_STRIDES(a), PyArray_STRIDES(a) + in.rank);
            break;
        }
    }
    return true;
}

// What is written overlaps nothing else, and no array is written through elements that lie on each other.
bool CompiledRegion::disjoint() const {
    if (!writes_) return true;
    struct Span {
        const char *begin, *end;
        bool written;
    };
    auto* const spans = static_cast<Span*>(alloca(sizeof(Span) * built_->inputs.size()));
    size_t count = 0;
    for (const EntryInput& in : built_->inputs) {
        if (in.kind != EntryInput::Array) continue;
        PyObject* o = entry_[static_cast<size_t>(in.slot)];
        auto* a = reinterpret_cast<PyArrayObject*>(in.of_iterator ? array_iter_state(o).array : o);
        Span s{nullptr, nullptr, in.written};
        guards::memory_span(reinterpret_cast<PyObject*>(a), &s.begin, &s.end);
        if (in.written && guards::overlaps_itself(reinterpret_cast<PyObject*>(a))) return false;
        for (size_t i = 0; i < count; ++i)
            if ((s.written || spans[i].written) && s.begin < spans[i].end && spans[i].begin < s.end)
                return false;
        spans[count++] = s;
    }
    return true;
}

// The line that is being done as somebody outside has it.
static const SourceLine* line_at_hand() { return now_doing ? now_doing->line : nullptr; }

// Left::End when the kernel has left the region.
Left CompiledRegion::run_on_device(const RegionArgs& args, int32_t* exit) {
    const Timed in_code(Activity::Loop, line_at_hand);
    switch (device_->run(args, exit)) {
        case DeviceRegion::Ran::Left: return Left::End;
        case DeviceRegion::Ran::Failed: retired = true; return Left::NotEntered;
        case DeviceRegion::Ran::Damaged: break;
    }
    PyErr_Format(PyExc_RuntimeError, "stator: the GPU failed while arrays were copied out: %s",
                 device_->error().c_str());
    return Left::Failed;
}

int32_t CompiledRegion::run_code(kernels::RegionArgs& args) {
    kernels::RegionSlot& slot = *request_->slot;
    was_replaced = false;
    if (!slot.provisional.load()) return slot.fn.load(std::memory_order_acquire)(&args);
    slot.breaker = args.breaker;
    args.breaker_cell = &slot.breaker;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const kernels::RegionFn fn = slot.fn.load();
    if (!slot.provisional.load()) return slot.fn.load()(&args);
    const int32_t exit = fn(&args);
    was_replaced = !slot.provisional.load();
    return exit;
}

Left CompiledRegion::run(Frame& f, int* pc, std::vector<ResumeFrame>* inner, EntryWatch* watch,
                         bool one_iteration) {
    std::vector<PyRef> owned;
    if (busy_) return Left::NotEntered;
    struct Busy {
        CompiledRegion* region;
        explicit Busy(CompiledRegion* r) : region(r) { r->busy_ = true; }
        ~Busy() {
            region->busy_ = false;
            region->let_go();
        }
    } const busy{this};
    if (retired || !ready() || (!device_ && !resolve_calls())) return Left::NotEntered;
    if (!enter(f, &owned)) return not_entered();
    RegionArgs args{};
    args.arrays = arrays_.data();
    args.dims = dims_.data();
    args.scalars = scalars_.data();
    args.out = out_.data();
    args.calls = calls_.data();
    args.breaker = breaker_word(f.ts(), &args.breaker_mask);
    static const volatile int32_t kWantsAttention = -1, kNothing = 0;  // any mask
    args.leave = one_iteration ? &kWantsAttention : &kNothing;
    args.steps = &steps;
    if (one_iteration && !counts_) args.breaker = &kWantsAttention;
    args.scratch = scratch_.data();
    args.trust = &trust_;
    args.grow = grow;
    const Disturbance others(&args);
    ++entries;
    int32_t exit = 0;
    if (watch) watch->entered(f, entry_);
    const int64_t called_before = calls_through_python(), had_grown = grown;
    const Left ran = device_ ? run_on_device(args, &exit) : Left::End;
    // The math library's errors are nobody's here; CPython 3.11's abs of a complex NaN reads what was there.
    const int error_before = errno;
    const bool timed = copied_ || metered;
    const bool metered_outside = std::exchange(CallThroughPython::metered, timed);
    const int64_t in_calls = CallThroughPython::ns, begun = timed ? now_ns() : 0;
    if (!device_) {
        const Timed in_code(Activity::Loop, line_at_hand);
        exit = run_code(args);
    }
    CallThroughPython::metered = metered_outside;
    const int64_t calls = this->called = calls_through_python() - called_before;
    inside_ns = timed ? now_ns() - begun : 0;
    native_ns = std::max<int64_t>(0, inside_ns - (CallThroughPython::ns - in_calls));
    if (copied_) inside_ns_ += inside_ns;
    errno = error_before;
    python_calls += calls;
    allocations += grown - had_grown;
    if (ran != Left::End) return ran;
    ++taken[static_cast<size_t>(exit)];
    if (!leave(f, exit, inner)) return Left::Failed;
    *pc = built_->exits[static_cast<size_t>(exit)]->frames[0].pc;
    const Left way = ways_[static_cast<size_t>(exit)];
    checks += way == Left::Check;
    return way;
}

bool CompiledRegion::would_admit(Frame& f) {
    std::vector<PyRef> owned;
    if (busy_) return false;
    busy_ = true;
    const bool fits = enter(f, &owned);
    busy_ = false;
    let_go();
    return fits;
}

// Python would take some thirty times as long for what the code did, and a loop that is left, and entered
// again, every few iterations is better off in Python.
bool CompiledRegion::copies_pay() const {
    return copying_ns_ < policy().copies_allowance + policy().copies_gain * inside_ns_;
}

std::string CompiledRegion::why_left() const {
    size_t most = taken.size();
    for (size_t x = 0; x < taken.size(); ++x)
        if (ways_[x] == Left::Check && (most == taken.size() || taken[x] > taken[most])) most = x;
    if (most == taken.size() || taken[most] == 0) return "";
    const ResumePoint::Stop& stop = built_->exits[most]->frames.back();
    const int line = stop.code->insns[static_cast<size_t>(stop.pc)].line;
    for (const BuiltRegion::LeftOut& part : built_->left_out)
        if (part.code == stop.code && part.code->insns[static_cast<size_t>(part.pc)].line == line)
            return fmt::format("{} times at line {}, for {}", taken[most], line, part.detail);
    if (!built_->left_out.empty()) return fmt::format("{} times at line {}", taken[most], line);
    constexpr uint32_t kAnyFault = ~uint32_t{0};
    const bool warns = built_->raises && numpy::faults_that_matter(kAnyFault) != 0;
    return fmt::format("{} times at line {}, for {}", taken[most], line,
                       warns ? "a floating-point warning, an error or a number that is out of range"
                             : "an error or a number that is out of range");
}

int CompiledRegion::traverse(visitproc visit, void* arg) const {
    for (const PyRef& o : built_->objects) Py_VISIT(o.get());
    for (const auto& [slot, o] : built_->same) Py_VISIT(o.get());
    for (const Followed& fn : built_->functions) {
        Py_VISIT(fn.function.get());
        Py_VISIT(fn.code.get());
        Py_VISIT(fn.defaults.get());
        Py_VISIT(fn.kwdefaults.get());
    }
    for (const Pinned& p : built_->pinned) {
        Py_VISIT(p.dict.get());
        Py_VISIT(p.value.get());
        Py_VISIT(p.module.get());
    }
    for (const auto& [slot, o] : built_->same_code) Py_VISIT(o.get());
    for (const EntrySource& s : built_->sources) {
        Py_VISIT(s.object.get());
        Py_VISIT(s.name.get());
    }
    for (const BuiltRegion::Cell& c : built_->cells) {
        Py_VISIT(c.name.get());
        Py_VISIT(c.globals.get());
    }
    return 0;
}

std::vector<PyObject*> CompiledRegion::needed() const {
    std::vector<PyObject*> all;
    for (const auto& [slot, o] : built_->same)
        if (o) all.push_back(o.get());
    for (const Followed& fn : built_->functions) all.push_back(fn.code.get());
    for (const Pinned& p : built_->pinned) {
        all.push_back(p.dict.get());
        if (p.value) all.push_back(p.value.get());
    }
    for (const auto& [slot, o] : built_->same_code) {
        all.push_back(PyFunction_GET_CODE(o.get()));
        all.push_back(PyFunction_GET_GLOBALS(o.get()));
        if (PyObject* defaults = PyFunction_GET_DEFAULTS(o.get())) all.push_back(defaults);
        if (PyObject* defaults = PyFunction_GET_KW_DEFAULTS(o.get())) all.push_back(defaults);
    }
    return all;
}

}  // namespace stator::frontend::regions
