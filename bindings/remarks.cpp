// Remarks as text, from the rows of frontend/reasons.def.
#include <string>

#include "bindings/compiled_function.h"

namespace stator::bindings {
namespace {

struct Row {
    const char *id, *message, *hint;
};
constexpr Row kRows[] = {
#define REASON(id, message, hint) {#id, message, hint},
#include "frontend/reasons.def"
#undef REASON
};

const Row& row(const frontend::Remark& r) { return kRows[static_cast<size_t>(r.reason)]; }

}  // namespace

const char* remark_reason(const frontend::Remark& r) { return row(r).id; }
const char* remark_hint(const frontend::Remark& r) {
    // Loops are left for other reasons, too, and where warnings are ignored already there is nothing to say.
    const bool other =
        r.reason == frontend::Reason::Faults && r.detail.find("floating-point") == r.detail.npos;
    return other ? "" : row(r).hint;
}

frontend::Reason reason_called(const std::string& id) {
    for (size_t i = 0; i < std::size(kRows); ++i)
        if (kRows[i].id == id) return static_cast<frontend::Reason>(i);
    return frontend::Reason::None;
}

std::string remark_message(const frontend::Remark& r) {
    std::string s = row(r).message;
    if (const size_t at = s.find("{}"); at != s.npos)
        return s.replace(at, 2, r.detail.empty() ? "this" : r.detail);
    return s;
}

std::string remark_text(const frontend::Remark& r) {
    std::string s = r.file + ":" + std::to_string(r.line) + " in " + r.function + ": " + remark_message(r);
    const std::string hint = remark_hint(r);
    return hint.empty() ? s : s + " (" + hint + ")";
}

bool is_break(const frontend::Remark& r) {
    using frontend::Reason;
    // A loop's body is a trace of its own, and an exception is the program's.
    const bool shown =
        r.reason != Reason::None && r.reason != Reason::LoopHeader && r.reason != Reason::Exception;
    return shown && !is_about_region(r);
}

bool is_about_region(const frontend::Remark& r) {
    using frontend::Reason;
    return r.reason == Reason::RegionOp || r.reason == Reason::RegionInModule ||
           r.reason == Reason::RegionPart || r.reason == Reason::RegionTypes ||
           r.reason == Reason::RegionKernel;
}

}  // namespace stator::bindings
