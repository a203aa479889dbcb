// See profile.h. The package's _profile.py makes reports of this.
#include "bindings/profile.h"

#include <pybind11/stl.h>

#include <string>

#include "bindings/all_functions.h"
#include "bindings/compiled_function.h"
#include "frontend/profile/sampler.h"

namespace py = pybind11;

namespace stator::bindings {
namespace {

using frontend::Native;
using frontend::SampleRow;
using frontend::Spent;

const char* name(Spent s) {
    switch (s) {
        case Spent::Generated: return "generated";
        case Spent::Library: return "library";
        case Spent::Answered: return "answered";
        case Spent::Compared: return "compared";
        case Spent::Overhead: return "overhead";
        case Spent::Recording: return "recording";
        case Spent::Stepped: return "stepped";
        case Spent::Plain: return "plain";
        case Spent::Import: return "import";
        case Spent::Waiting: return "waiting";
    }
    return "";
}

// Whose time it is, where it is Python's.
const char* name(Native n) {
    if (is_numpy(n)) return "numpy";
    switch (n) {
        case Native::Other: return "other";
        default: return "python";
    }
}

// What routine of NumPy's it is in; "" for its other code.
const char* routine(Native n) {
    switch (n) {
        case Native::LinearAlgebra: return "linear algebra (BLAS and LAPACK)";
        case Native::RandomNumbers: return "random numbers";
        case Native::Fourier: return "Fourier transforms";
        default: return "";
    }
}

// Why nothing of the function was compiled, where stator did not look into it at all.
frontend::Reason never_taken(const SampleRow& row) {
    constexpr int kGenerators = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    using frontend::Reason;
    if (row.line.function == "<module>" || !(row.flags & CO_OPTIMIZED))
        return why_not_taken(row.code) == Reason::None ? Reason::None : Reason::NotInFunction;
    if (row.flags & kGenerators) return Reason::Generator;
    return why_not_taken(row.code);
}

py::dict row_dict(const SampleRow& r) {
    py::dict d;
    d["file"] = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(r.line.file.data(), static_cast<Py_ssize_t>(r.line.file.size()), "replace"));
    d["function"] = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
        r.line.function.data(), static_cast<Py_ssize_t>(r.line.function.size()), "replace"));
    d["line"] = r.line.line;
    d["first_line"] = r.first_line;
    d["spent"] = name(r.spent);
    d["by"] = name(r.native);
    d["routine"] = routine(r.native);
    d["seconds"] = static_cast<double>(r.ns) / 1e9;
    d["samples"] = r.samples;
    d["first"] = static_cast<double>(r.first_ns) / 1e9;
    d["early"] = r.early;
    const frontend::Reason why = r.code ? never_taken(r) : frontend::Reason::None;
    d["reason"] = remark_reason({why, {}, {}, {}, 0, 0});
    return d;
}

void start(std::vector<std::string> internal, std::vector<std::string> external, std::string numpy) {
    std::string why;
    frontend::compare_all_functions();
    if (!frontend::start_sampling({std::move(internal), std::move(external), std::move(numpy)}, &why)) {
        PyErr_SetString(PyExc_RuntimeError, ("no profile can be made: " + why).c_str());
        throw py::error_already_set();
    }
}

py::dict stop() {
    const frontend::SampledProgram p = frontend::stop_sampling();
    py::list rows;
    for (const SampleRow& r : p.rows) rows.append(row_dict(r));
    py::dict d;
    d["rows"] = rows;
    d["wall"] = static_cast<double>(p.wall_ns) / 1e9;
    d["cpu"] = static_cast<double>(p.cpu_ns) / 1e9;
    d["threads"] = p.threads;
    d["interrupted"] = p.interrupted;
    return d;
}

py::list functions() {
    py::list all;
    for (const frontend::FunctionReport& f : frontend::function_reports()) {
        py::dict d;
        d["file"] = f.file;
        d["function"] = f.function;
        d["line"] = f.line;
        d["retired"] = f.retired;
        d["compared"] =
            py::make_tuple(1e-9 * static_cast<double>(f.served_ns), 1e-9 * static_cast<double>(f.plain_ns));
        d["remarks"] = f.remarks;
        d["regions"] = f.regions;
        d["calls"] = f.counters.calls;
        d["lines"] = f.lines;
        all.append(d);
    }
    return all;
}

std::pair<std::string, std::string> reason_text(const std::string& id) {
    const frontend::Remark r{reason_called(id), {}, {}, {}, 0, 0};
    return {remark_message(r), remark_hint(r)};
}

}  // namespace

void add_profile(py::module_& m) {
    m.def("start_profile", &start, py::arg("internal"), py::arg("external"), py::arg("numpy"));
    m.def("stop_profile", &stop);
    m.def("functions", &functions);
    m.def("reason_text", &reason_text);
}

}  // namespace stator::bindings
