// See ledger.h. All of this runs on the sampler's thread, without the GIL.
#include "frontend/profile/ledger.h"

#include <algorithm>
#include <string_view>

#include "frontend/profile/own_memory.h"

namespace stator::frontend {

namespace {

bool begins(const std::string& file, const std::vector<std::string>& with) {
    return std::any_of(with.begin(), with.end(), [&](const std::string& p) { return file.starts_with(p); });
}

constexpr std::string_view kFrozen = "<frozen ", kImporter = "<frozen importlib";

}  // namespace

// Read again when another code object lies there.
const CodeText* Ledger::text_of(const void* code) {
    CodeText& text = texts_[code];
    const void* identity[3];
    if (!identify_code(code, identity, read_own)) return nullptr;
    if (std::equal(identity, identity + 3, text.identity)) return &text;
    text = {};
    if (read_code(code, &text, read_own)) return &text;
    text = {};
    return nullptr;
}

bool Ledger::external(const std::string& file) const { return begins(file, rules_.external); }

bool Ledger::internal(const std::string& file) const {
    if (file.starts_with(kFrozen)) return true;
    return file.starts_with(rules_.numpy) || (begins(file, rules_.internal) && !external(file));
}

// The innermost line of the program's own.
Ledger::Place Ledger::place_of(const FrameMark* frames, int count) {
    Place p;
    for (int i = 0; i < count; ++i) {
        const CodeText* text = text_of(frames[i].code);
        if (!text) continue;
        if (i == 0) p.in_numpy = text->file.starts_with(rules_.numpy);
        if (i == 0) p.in_library = !p.in_numpy && internal(text->file);
        if (internal(text->file)) {
            // What a package does while it is imported.
            const bool imports = text->file.starts_with(kImporter);
            if (imports && p.line) p.line = nullptr, p.code = p.frame = nullptr;
            p.importing |= imports;
            continue;
        }
        if (p.line) {
            if (!external(text->file)) break;
            continue;
        }
        p.line = &*lines_.insert({text->file, text->function, text->line_of(frames[i].unit)}).first;
        p.first_line = text->first_line, p.flags = text->flags;
        p.code = frames[i].code, p.frame = frames[i].frame;
        if (!external(text->file)) break;
    }
    return p;
}

// Functions of stator's own that the code calls (sines) are a part of it.
Spent Ledger::in_loop(Native worker) {
    switch (worker) {
        case Native::NumPy:
        case Native::LinearAlgebra:
        case Native::RandomNumbers:
        case Native::Fourier:
        case Native::Evaluator:
        case Native::Other: return Spent::Library;
        default: return Spent::Generated;
    }
}

void Ledger::enter(const Moment& m, const FrameMark* frames, const void* const* stack, int64_t ns,
                   int64_t at) {
    const bool waits = m.words == 0;
    Native native = waits ? Native::Unknown : images_.worker(stack, m.words);
    Place place = place_of(frames, m.frames);
    const bool drives =
        m.in_stator && (m.doing.what == Activity::Stepping || m.doing.what == Activity::Recording);
    // What the instruction that is stepped over calls is the interpreter's.
    const bool here = !drives || place.frame == m.doing.frame;
    const Activity what = m.in_stator && here ? m.doing.what : Activity::Plain;
    const bool python = what == Activity::Plain || what == Activity::Stepping || what == Activity::Comparing;
    // What the standard library does is nothing that could be compiled.
    if (native == Native::Evaluator)
        native = place.in_numpy ? Native::NumPy : place.in_library ? Native::Other : native;
    if (native == Native::Generated && python) native = Native::Other;  // of another compiler
    Spent spent = Spent::Plain;
    switch (what) {
        case Activity::Kernels: spent = Spent::Generated; break;
        case Activity::Library: spent = Spent::Library; break;
        case Activity::Loop: spent = in_loop(native); break;
        case Activity::Region:
        case Activity::Guards:
        case Activity::Launch: spent = Spent::Overhead; break;
        case Activity::Recording:
        case Activity::Building: spent = Spent::Recording; break;
        case Activity::Stepping: spent = Spent::Stepped; break;
        case Activity::Answering: spent = Spent::Answered; break;
        case Activity::Comparing: spent = Spent::Compared; break;
        case Activity::Plain:
            spent = place.importing            ? Spent::Import
                    : native == Native::Stator ? Spent::Overhead
                                               : Spent::Plain;
            break;
    }
    const Purpose purpose = m.in_stator ? m.doing.purpose : Purpose::Program;
    const bool answers = purpose == Purpose::Answer && !python;
    if (answers && spent != Spent::Recording) spent = Spent::Answered;
    if (purpose == Purpose::Comparison) spent = Spent::Compared;
    if (waits) spent = Spent::Waiting;
    const bool own_line = m.in_stator && !python && m.doing.line && what != Activity::Recording && !answers;
    const SourceLine* line = own_line ? &*lines_.insert(*m.doing.line).first : place.line;
    bool early = false;
    if (line) {
        if (spent == Spent::Generated || spent == Spent::Library || spent == Spent::Answered)
            captured_.emplace(line->file, line->function);
        else
            early = !captured_.contains({line->file, line->function});
    }
    SampleRow& row = rows_[{line, spent, native, early}];
    row.spent = spent, row.native = native, row.early = early;
    if (row.samples == 0) row.first_ns = at;
    if (line) row.line = *line;
    if (line == place.line) row.first_line = place.first_line, row.code = place.code, row.flags = place.flags;
    row.ns += ns, ++row.samples;
}

std::vector<SampleRow> Ledger::rows() const {
    std::vector<SampleRow> all;
    for (const auto& [key, row] : rows_) all.push_back(row);
    return all;
}

}  // namespace stator::frontend
