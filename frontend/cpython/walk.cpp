// See walk.h.
#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include "frontend/cpython/walk.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stator::frontend {

namespace {

constexpr size_t kFrameHead = offsetof(raw::IFrame, localsplus);
constexpr Py_ssize_t kMostBytes = 1 << 20;  // of a name or a table
constexpr uint32_t kLastCharacter = 0x10FFFF;

template <class T>
bool fetch(const void* from, T* to, SafeRead read) {
    return from && read(from, to, sizeof(T));
}

const void* field(const void* object, size_t offset) {
    return object ? static_cast<const char*>(object) + offset : nullptr;
}

// The address of the innermost frame.
const void* innermost(const void* ts, SafeRead read) {
    const void* frame = nullptr;
#if PY_VERSION_HEX < 0x030D0000
    const void* cframe = nullptr;
    if (!fetch(field(ts, offsetof(PyThreadState, cframe)), &cframe, read)) return nullptr;
    if (!fetch(field(cframe, offsetof(_PyCFrame, current_frame)), &frame, read)) return nullptr;
#else
    if (!fetch(field(ts, offsetof(PyThreadState, current_frame)), &frame, read)) return nullptr;
#endif
    return frame;
}

const void* code_of(const raw::IFrame& f) {
#if PY_VERSION_HEX < 0x030D0000
    return f.f_code;
#elif PY_VERSION_HEX < 0x030E0000
    return f.f_executable;
#else
    return reinterpret_cast<const void*>(f.f_executable.bits & ~uintptr_t{3});
#endif
}

const void* instruction_of(const raw::IFrame& f) {
#if PY_VERSION_HEX < 0x030D0000
    return f.prev_instr;
#else
    return f.instr_ptr;
#endif
}

// Frames of the evaluator's own, between two calls from C.
bool is_of_c([[maybe_unused]] const raw::IFrame& f) {
#if PY_VERSION_HEX < 0x030C0000
    return false;
#else
    constexpr int kOwnedByFrameObject = 2;  // the last kind of a program's frames, in all versions
    return f.owner > kOwnedByFrameObject;
#endif
}

bool read_bytes(const void* object, std::string* bytes, SafeRead read) {
    PyVarObject head;
    if (!fetch(object, &head, read) || head.ob_base.ob_type != &PyBytes_Type) return false;
    if (head.ob_size < 0 || head.ob_size > kMostBytes) return false;
    bytes->resize(static_cast<size_t>(head.ob_size));
    return read(field(object, offsetof(PyBytesObject, ob_sval)), bytes->data(), bytes->size());
}

void append_utf8(std::string* s, uint32_t c) {
    const auto put = [s](uint32_t byte) { s->push_back(static_cast<char>(byte)); };
    if (c < 0x80) return put(c);
    if (c < 0x800) return put(0xc0 | c >> 6), put(0x80 | (c & 63));
    if (c < 0x10000) return put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 63)), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
}

bool read_text(const void* object, std::string* text, SafeRead read) {
    PyASCIIObject head;
    if (!fetch(object, &head, read) || head.ob_base.ob_type != &PyUnicode_Type) return false;
    const size_t kind = head.state.kind;
    if (!head.state.compact || head.length < 0 || head.length > kMostBytes) return false;
    const size_t begin = head.state.ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
    std::vector<unsigned char> raw(static_cast<size_t>(head.length) * kind);
    if (!raw.empty() && !read(field(object, begin), raw.data(), raw.size())) return false;
    for (size_t i = 0; i < raw.size(); i += kind) {
        uint32_t c = 0;
        for (size_t k = 0; k < kind; ++k) c |= static_cast<uint32_t>(raw[i + k]) << 8 * k;
        // Memory that was a string's once; besides, no file has such a name.
        if (c == 0 || c > kLastCharacter) return false;
        append_utf8(text, c);
    }
    return true;
}

}  // namespace

const void* evaluator_function() { return reinterpret_cast<const void*>(&_PyEval_EvalFrameDefault); }
const void* this_thread_state() { return PyGILState_GetThisThreadState(); }

const void* find_thread_state(int tid, SafeRead read) {
    constexpr int kMostThreads = 4096;  // the list may change while it is read, and be a circle for a moment
    const void* interpreter = PyInterpreterState_Main();
    const void* ts = nullptr;
    if (!fetch(field(interpreter, offsetof(PyInterpreterState, threads.head)), &ts, read)) return nullptr;
    for (int i = 0; ts && i < kMostThreads; ++i) {
        unsigned long number = 0;
        if (!fetch(field(ts, offsetof(PyThreadState, native_thread_id)), &number, read)) return nullptr;
        if (number == static_cast<unsigned long>(tid)) return ts;
        if (!fetch(field(ts, offsetof(PyThreadState, next)), &ts, read)) return nullptr;
    }
    return nullptr;
}

int walk_frames(const void* ts, FrameMark* marks, int most, SafeRead read) {
    int count = 0;
    const void* at = innermost(ts, read);
    for (int rounds = 0; at && count < most && rounds < 2 * most; ++rounds) {
        alignas(raw::IFrame) char head[sizeof(raw::IFrame)];
        if (!read(at, head, kFrameHead)) break;
        const auto& f = *reinterpret_cast<const raw::IFrame*>(head);
        if (!is_of_c(f)) {
            const void* code = code_of(f);
            const auto first =
                reinterpret_cast<intptr_t>(field(code, offsetof(PyCodeObject, co_code_adaptive)));
            const auto here = reinterpret_cast<intptr_t>(instruction_of(f));
            const intptr_t unit = (here - first) / static_cast<intptr_t>(sizeof(_Py_CODEUNIT));
            marks[count++] = {at, code, static_cast<int>(std::clamp<intptr_t>(unit, -1, INT32_MAX))};
        }
        at = f.previous;
    }
    return count;
}

bool identify_code(const void* code, const void* (&identity)[3], SafeRead read) {
    alignas(PyCodeObject) char head[sizeof(PyCodeObject)];
    if (!code || !read(code, head, offsetof(PyCodeObject, co_code_adaptive))) return false;
    const auto& c = *reinterpret_cast<const PyCodeObject*>(head);
    if (c.ob_base.ob_base.ob_type != &PyCode_Type) return false;
    identity[0] = c.co_filename, identity[1] = c.co_qualname, identity[2] = c.co_linetable;
    return true;
}

bool read_code(const void* code, CodeText* text, SafeRead read) {
    if (!identify_code(code, text->identity, read)) return false;
    if (!fetch(field(code, offsetof(PyCodeObject, co_firstlineno)), &text->first_line, read)) return false;
    if (!fetch(field(code, offsetof(PyCodeObject, co_flags)), &text->flags, read)) return false;
    // Strings are alive as long as the code object is the same.
    const void* now[3];
    return read_text(text->identity[0], &text->file, read) &&
           read_text(text->identity[1], &text->function, read) &&
           read_bytes(text->identity[2], &text->lines, read) && identify_code(code, now, read) &&
           std::equal(now, now + 3, text->identity);
}

// The format is CPython's Objects/locations.md: entries begin with a byte that has its high bit set, which
// says how many units the entry is for and of which form it is.
int CodeText::line_of(int unit) const {
    int line = first_line, found = first_line;
    for (size_t i = 0, end = 0; i < lines.size() && static_cast<int>(end) <= unit;) {
        const auto head = static_cast<unsigned char>(lines[i++]);
        const int form = head >> 3 & 15;
        unsigned value = 0;
        size_t k = i;
        for (int shift = 0; k < lines.size() && shift < 30; ++k, shift += 6) {
            value |= static_cast<unsigned>(lines[k] & 63) << shift;
            if (!(lines[k] & 64)) break;
        }
        constexpr int kOneLine = 10, kNoColumns = 13, kLong = 14, kNone = 15;
        if (form == kNoColumns || form == kLong)
            line += value & 1 ? -static_cast<int>(value >> 1) : static_cast<int>(value >> 1);
        else if (form >= kOneLine && form < kNoColumns)
            line += form - kOneLine;
        if (form != kNone) found = line;
        end += (head & 7) + 1;
        while (i < lines.size() && !(lines[i] & 0x80)) ++i;
    }
    return found;
}

}  // namespace stator::frontend
