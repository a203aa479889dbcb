// The CUDA printer's frame: parameters, index arithmetic, addresses, and statements of one element. The forms
// are in cuda/forms.cpp.
//
// Addresses. Within a row every access is a pointer to its first column and a step: nothing, one element, a
// multiple of elements, or bytes. Only the pointers are computed per row; the compiler keeps the steps in
// registers.
#include "kernels/cuda/internal.h"

#include <algorithm>

#include "kernels/cuda/contracted.h"

namespace stator::kernels {

bool on_device(const Scalar& s, const graph::Graph& g) {
    if (s.kind != ScalarKind::Input) return s.kind == ScalarKind::Result;
    // A version of an array that existed before is that array's contents.
    const graph::Op op = g.node(s.value).op;
    if (g.node(s.value).host_number) return false;
    const bool array = g.node(s.value).box == graph::Box::Array;
    if (array && graph::on_gpu(g.node(s.value).host))
        return op != graph::Op::Const && op != graph::Op::SymScalar;
    if (op == graph::Op::Store) return g.node(graph::buffer_root(g, s.value)).op != graph::Op::Input;
    return op != graph::Op::Input && op != graph::Op::Library && op != graph::Op::Const &&
           op != graph::Op::SymScalar;
}

CudaSource emit_cuda(const std::vector<const Program*>& programs, const graph::Graph& g,
                     const std::string& prefix, bool fastmath) {
    CudaSource out;
    // CuPy flushes subnormal numbers of single precision (cupy/cuda/compiler.py), which each operation sees.
    if (std::ranges::any_of(g.nodes, [](const graph::Node& n) { return n.host == graph::HostId::CuPy; }))
        out.options.emplace_back("--ftz=true");
    cuda::Uses uses;
    uses.fast = fastmath;
    std::string kernels;
    for (size_t unit = 0; unit < programs.size(); ++unit) {
        if (!programs[unit]) continue;
        for (const GpuKernel& k : schedule_gpu(*programs[unit])) {
            CudaKernel kernel;
            if (k.phase > 0 && k.form != Form::Combine) {  // the code of the first phase
                kernel = out.kernels.back();
                kernel.schedule = k;
                out.kernels.push_back(std::move(kernel));
                continue;
            }
            std::string name = prefix + "_k" + std::to_string(out.kernels.size());
            std::string text =
                cuda::KernelPrinter(*programs[unit], g, k, name, uses).print(&kernel, &out.error);
            if (!out.error.empty()) return out;
            kernel.unit = static_cast<int>(unit);
            kernels += "\n" + text;
            out.kernels.push_back(std::move(kernel));
        }
    }
    out.text = cuda::prelude(uses) + kernels;
    if (uses.stores_words) {
        uses.insert(cuda::calls_contracted(out.text) ? "put_called" : "put");
        out.text = cuda::prelude(uses) + kernels;
    }
    return out;
}

namespace cuda {

using graph::DType;

static std::string text(int n) { return std::to_string(n); }

void Lines::line(const std::string& s) {
    if (s.starts_with("#"))
        text += s + "\n";
    else
        text += std::string(4 * static_cast<size_t>(depth_), ' ') + s + "\n";
}
void Lines::open(const std::string& head) {
    line(head.empty() ? "{" : head + " {");
    ++depth_;
}
void Lines::close() {
    --depth_;
    line("}");
}

KernelPrinter::KernelPrinter(const Program& p, const graph::Graph& g, const GpuKernel& k, std::string name,
                             Uses& uses)
    : p_(p), g_(g), k_(k), name_(std::move(name)), uses_(uses) {}

std::string KernelPrinter::print(CudaKernel* out, std::string* error) {
    switch (k_.form) {
        case Form::Scalar: scalar_form(); break;
        case Form::Elementwise: elementwise(); break;
        case Form::Tiles: tiles(); break;
        case Form::Rows: rows(); break;
        case Form::Columns: columns(); break;
        case Form::Partial: partial(); break;
        case Form::Combine: combine(); break;
    }
    *error = error_;
    out->name = name_;
    out->schedule = k_;
    out->params = params_;
    std::string about = "// " + std::string(form_name(k_.form)) + ", nest";
    for (int n : k_.nests) about += " " + std::to_string(n);
    about += ": vectors of " + std::to_string(k_.vector);
    if (k_.form == Form::Elementwise) about += ", " + std::to_string(k_.unroll) + " a thread";
    if (k_.form == Form::Tiles)
        about += ", tiles of " + std::to_string(k_.side) + " x " + std::to_string(k_.side);
    if (!k_.staged.empty())
        about += ", " + std::to_string(k_.staged.size()) + " operands kept in shared memory";
    return about + "\n" + signature() + " {\n" + out_.text + "}\n";
}

// ---- parameters ----

std::string KernelPrinter::param_name(const CudaParam& p) const {
    std::string n = std::to_string(p.index);
    switch (p.kind) {
        case CudaParamKind::Buffer: return "b" + n;
        case CudaParamKind::Extent: return "n" + n;
        case CudaParamKind::Stride: return "stride" + n;
        case CudaParamKind::Scalar: return "c" + n;
        case CudaParamKind::Result: return "r" + n;
        case CudaParamKind::Partial: return "partials";
        case CudaParamKind::Slices: return "slices";
        case CudaParamKind::Phase: return "phase";
        case CudaParamKind::Staged: return "staged";
        case CudaParamKind::Shift: return "shift";
    }
    return {};
}

bool KernelPrinter::stored(int buffer) const {
    for (int n : k_.nests)
        for (const Stmt& s : p_.code[static_cast<size_t>(n)]->stmts)
            if (s.kind == StmtKind::Store && s.access.buffer == buffer) return true;
    return false;
}

std::string KernelPrinter::param_type(const CudaParam& p) const {
    auto pointer = [](bool constant, DType t) {
        return (constant ? "const " : "") + std::string(memory_type(t)) + "* __restrict__ ";
    };
    auto scalar = [&] { return p_.scalars[static_cast<size_t>(p.index)].dtype; };
    switch (p.kind) {
        case CudaParamKind::Buffer:
            return pointer(!stored(p.index), p_.buffers[static_cast<size_t>(p.index)].dtype);
        case CudaParamKind::Scalar: return std::string(memory_type(scalar())) + " ";
        case CudaParamKind::Result: return pointer(false, scalar());
        case CudaParamKind::Partial: return "u8* __restrict__ ";
        default: return "i64 ";
    }
}

std::string KernelPrinter::param(CudaParamKind kind, int index) {
    CudaParam p{kind, index};
    if (kind == CudaParamKind::Scalar)
        p.bytes = graph::info(p_.scalars[static_cast<size_t>(index)].dtype).size;
    if (std::find(params_.begin(), params_.end(), p) == params_.end()) params_.push_back(p);
    return param_name(p);
}

std::string KernelPrinter::signature() const {
    int threads = k_.form == Form::Rows ? kRowThreads : k_.form == Form::Scalar ? 1 : kBlockThreads;
    std::string s =
        "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ")\n" + name_ + "(";
    for (size_t i = 0; i < params_.size(); ++i)
        s += (i ? ", " : "") + param_type(params_[i]) + param_name(params_[i]);
    return s + ")";
}

// ---- integers ----

std::string KernelPrinter::number(const Int& i) {
    if (i.sym >= 0) return param(CudaParamKind::Extent, i.sym);
    return std::to_string(i.value);
}

std::string KernelPrinter::product(const std::vector<Int>& extents) {
    std::string s;
    for (const Int& e : extents) s += (s.empty() ? "(i64)" : " * ") + number(e);
    return s.empty() ? "1" : s;
}

std::string KernelPrinter::term_factor(const Access& a, const Term& t, bool bytes) {
    std::string f = t.factor.is(1) ? "" : number(t.factor);
    if (f.starts_with("-")) f = "(" + f + ")";
    auto join = [&](const std::string& x) { f += (f.empty() ? "" : " * ") + x; };
    if (t.dim != kDense) {
        const Buffer& b = p_.buffers[static_cast<size_t>(a.buffer)];
        join(param(CudaParamKind::Stride, b.stride_base + t.dim));
    } else if (bytes) {
        join(std::to_string(graph::info(p_.buffers[static_cast<size_t>(a.buffer)].dtype).size));
    }
    return f;
}

std::string KernelPrinter::terms(const Access& a, int from, int to, bool offset, bool* bytes) {
    auto strided = [](const std::vector<Term>& list) {
        return std::any_of(list.begin(), list.end(), [](const Term& t) { return t.dim != kDense; });
    };
    *bytes = offset && strided(a.offset);
    for (int k = from; k < to; ++k) *bytes |= strided(a.axis[static_cast<size_t>(k)]);
    std::string s;
    auto put = [&](const Term& t, const std::string& i) {
        std::string f = term_factor(a, t, *bytes);
        std::string x = i.empty() ? (f.empty() ? "1" : f) : f.empty() ? i : i + " * " + f;
        s += (s.empty() ? "" : " + ") + x;
    };
    if (offset)
        for (const Term& t : a.offset) put(t, "");
    for (int k = from; k < to; ++k)
        for (const Term& t : a.axis[static_cast<size_t>(k)]) put(t, index_[static_cast<size_t>(k)]);
    return s;
}

void KernelPrinter::split(const std::string& linear, const std::vector<Int>& extents, int first_axis) {
    auto axis = [&](size_t a) -> std::string& { return index_[static_cast<size_t>(first_axis) + a]; };
    if (extents.size() == 1) axis(0) = linear;
    std::string rest = linear;
    for (size_t a = extents.size(); a-- > 1;) {
        std::string id = std::to_string(static_cast<size_t>(first_axis) + a), e = number(extents[a]);
        axis(a) = "i" + id;
        // One division, of numbers that are not negative.
        out_.line("const i64 rest" + id + " = (u64)" + rest + " / (u64)" + e + ", i" + id + " = " + rest +
                  " - rest" + id + " * " + e + ";");
        rest = "rest" + id;
        if (a == 1) axis(0) = rest;
    }
}

// ---- statements ----

void KernelPrinter::fail(const std::string& why) {
    if (error_.empty()) error_ = why;
}

void KernelPrinter::enter(int number, int row_axes) {
    nest_ = number;
    row_axes_ = row_axes;
    names_.assign(nest().stmts.size(), "");
    pointers_ = names_;
    reductions_.assign(names_.size(), {});
    index_.resize(std::max(index_.size(), nest().axes.size()));
    for (int i = 0; i < count(); ++i) {
        const Stmt& s = stmt(i);
        if (s.kind != StmtKind::Reduce && s.kind != StmtKind::ArgReduce) continue;
        if (!reduction(nest(), i, k_.form != Form::Columns, &reductions_[static_cast<size_t>(i)], uses_))
            fail("no CUDA code for the reduction " + s.name + " of " +
                 std::string(graph::info(s.dtype).text));
    }
}

// Nests of one kernel have their own numbers in names: v2_5 is statement 5 of nest 2.
std::string KernelPrinter::variable(const char* letter, int i) const {
    std::string n = k_.nests.size() > 1 ? std::to_string(nest_) + "_" : "";
    return letter + n + std::to_string(i);
}

void KernelPrinter::value(int i, const std::string& text) {
    names_[static_cast<size_t>(i)] = variable("v", i);
    out_.line("const " + std::string(value_type(stmt(i).dtype)) + " " + variable("v", i) + " = " + text +
              ";");
}

void KernelPrinter::compute(int i) {
    const Stmt& s = stmt(i);
    if (s.dtype == DType::F16 || s.dtype == DType::BF16) uses_.insert(value_type(s.dtype));
    if (graph::is_complex(s.dtype)) uses_.insert("complex");
    if (s.kind == StmtKind::Scalar) {
        const Scalar& c = p_.scalars[static_cast<size_t>(s.slot)];
        if (c.kind == ScalarKind::Const) return value(i, constant(s.dtype, c.bits[0], c.bits[1], uses_));
        std::string text = on_device(c, g_) ? "*" + param(CudaParamKind::Result, s.slot)
                                            : param(CudaParamKind::Scalar, s.slot);
        return value(i, s.dtype == DType::Bool ? text + " != 0" : text);
    }
    if (s.kind == StmtKind::Index) {
        bool bytes = false;
        std::string at = terms(s.access, 0, static_cast<int>(s.access.axis.size()), true, &bytes);
        return value(i, convert(DType::I64, s.dtype, "(" + (at.empty() ? "(i64)0" : at) + ")", uses_));
    }
    std::vector<std::string> in;
    for (int k : s.in) in.push_back(names_[static_cast<size_t>(k)]);
    std::string text = contracted(i);
    if (text.empty()) text = cuda::compute(nest(), i, in, k_.calls, uses_);
    if (text.empty()) {
        std::string what = s.name.empty() ? std::string(graph::info(s.op).text) : s.name;
        for (int k : s.in)
            what += (k == s.in[0] ? " of " : ", ") + std::string(graph::info(stmt(k).dtype).text);
        fail("no CUDA code for " + what);
    }
    value(i, text);
}

// A sum of a product, in one step where that is allowed.
std::string KernelPrinter::contracted(int i) const {
    const Stmt& s = stmt(i);
    bool sum = s.kind == StmtKind::Compute && (s.op == graph::Op::Add || s.op == graph::Op::Subtract);
    if (!uses_.fast || !sum || (s.dtype != DType::F32 && s.dtype != DType::F64)) return {};
    for (size_t k = 0; k < 2; ++k) {
        const Stmt& product = stmt(s.in[k]);
        if (product.kind != StmtKind::Compute || product.op != graph::Op::Multiply ||
            product.dtype != s.dtype)
            continue;
        auto name = [&](int operand) { return names_[static_cast<size_t>(operand)]; };
        return cuda::contracted(s, name(product.in[0]), name(product.in[1]), k == 0, name(s.in[1 - k]));
    }
    return {};
}

void KernelPrinter::load(int i, const std::string& from) {
    value(i, stmt(i).dtype == DType::Bool ? from + " != 0" : from);
}

void KernelPrinter::store(int i, const std::string& to) {
    const Stmt& s = stmt(i);
    out_.line(to + " = " + names_[static_cast<size_t>(s.in[0])] + ";");
}

// Loads per row are made where the rows are, after reductions.
void KernelPrinter::scalars() {
    std::vector<char> behind = behind_reductions(nest());
    for (int i = 0; i < count(); ++i)
        if (stmt(i).depth == 0 && !behind[static_cast<size_t>(i)] &&
            (stmt(i).kind == StmtKind::Scalar || stmt(i).kind == StmtKind::Compute))
            compute(i);
}

// The value that this kernel stored at the same place of the row, when statement `i` loads it again.
const std::string* KernelPrinter::row_value(int i) const {
    if (k_.form != Form::Rows || stmt(i).kind != StmtKind::Load) return nullptr;
    for (const auto& [access, name] : row_values_)
        if (*access == stmt(i).access) return &name;
    return nullptr;
}

// Whether statement `i` stores once per row, and only nests of this kernel read it.
bool KernelPrinter::stays_in_rows(int i) const {
    const Stmt& s = stmt(i);
    if (k_.form != Form::Rows || s.kind != StmtKind::Store || innermost(i)) return false;
    const Buffer& b = p_.buffers[static_cast<size_t>(s.access.buffer)];
    if (b.kind != BufferKind::Scratch) return false;
    for (size_t n = 0; n < p_.code.size(); ++n) {
        bool here = std::find(k_.nests.begin(), k_.nests.end(), static_cast<int>(n)) != k_.nests.end();
        for (const Stmt& t : p_.code[n]->stmts) {
            bool reads = t.kind == StmtKind::Load && t.access.buffer == s.access.buffer;
            if (reads && (!here || !(t.access == s.access))) return false;
        }
    }
    return true;
}

void KernelPrinter::row_pointers() {
    for (int i = 0; i < count(); ++i) {
        const Stmt& s = stmt(i);
        if (s.kind != StmtKind::Load && s.kind != StmtKind::Store) continue;
        DType t = p_.buffers[static_cast<size_t>(s.access.buffer)].dtype;
        if (t == DType::F16 || t == DType::BF16) uses_.insert(value_type(t));
        if (graph::is_complex(t)) uses_.insert("complex");
        if (stays_in_rows(i)) private_.push_back(s.access);
        if (std::find(private_.begin(), private_.end(), s.access) != private_.end()) continue;
        auto known = std::find_if(row_pointers_.begin(), row_pointers_.end(),
                                  [&](const auto& k) { return k.first == s.access; });
        if (known != row_pointers_.end()) {
            pointers_[static_cast<size_t>(i)] = known->second;
            continue;
        }
        std::string base = param(CudaParamKind::Buffer, s.access.buffer), type(memory_type(t));
        std::string constness = stored(s.access.buffer) ? "" : "const ";
        bool bytes = false;
        int axes = std::min(row_axes_, static_cast<int>(s.access.axis.size()));
        std::string at = terms(s.access, 0, axes, true, &bytes), q = variable("p", i), address = base;
        if (!at.empty() && bytes)
            address = "(" + constness + type + "*)((" + constness + "u8*)" + base + " + (" + at + "))";
        else if (!at.empty())
            address = base + " + " + at;
        out_.line(constness + type + "* const " + q + " = " + address + ";");
        pointers_[static_cast<size_t>(i)] = q;
        row_pointers_.emplace_back(s.access, q);
        if (!vector_access(i)) continue;
        if (shifted(i))
            out_.line("const bool whole_" + q + " = (u64)" + q + " % " + text(word_bytes(i)) + " == 0;");
        else
            aligned_.emplace_back(q, word_bytes(i));
    }
}

std::string KernelPrinter::element(int i) {
    const Stmt& s = stmt(i);
    const std::string& q = pointers_[static_cast<size_t>(i)];
    int axes = static_cast<int>(s.access.axis.size());
    bool bytes = false;
    std::string at = innermost(i) && axes > row_axes_ ? terms(s.access, row_axes_, axes, false, &bytes) : "";
    if (at.empty()) return "*" + q;
    if (!bytes) return q + "[" + at + "]";
    std::string constness = stored(s.access.buffer) ? "" : "const ";
    std::string type = constness + std::string(memory_type(s.dtype));
    return "*(" + type + "*)((" + constness + "u8*)" + q + " + (" + at + "))";
}

bool KernelPrinter::vector_access(int i) const {
    const Stmt& s = stmt(i);
    return k_.vector > 1 && (s.kind == StmtKind::Load || s.kind == StmtKind::Store) && innermost(i) &&
           movement(s.access, row_axes_) == Movement::Unit;
}

// Whether statement `i` loads beside the element that is stored, as stencils do: seldom whole vectors then.
bool KernelPrinter::shifted(int i) const {
    if (k_.form != Form::Elementwise || stmt(i).kind != StmtKind::Load) return false;
    for (const Stmt& s : nest().stmts)
        if (s.kind == StmtKind::Store) return !same_row(s.access, stmt(i).access, 0);
    return false;
}

// Whether anything but accesses in vectors depends on the column.
bool KernelPrinter::names_column() const {
    for (int i = 0; i < count(); ++i) {
        StmtKind kind = stmt(i).kind;
        if (!innermost(i) || vector_access(i) || tiled(i)) continue;
        if (kind == StmtKind::Load || kind == StmtKind::Store || kind == StmtKind::Index ||
            kind == StmtKind::ArgReduce)
            return true;
        if (kind == StmtKind::Reduce && reductions_[static_cast<size_t>(i)].position) return true;
    }
    return std::any_of(nest().stmts.begin(), nest().stmts.end(),
                       [](const Stmt& s) { return s.kind == StmtKind::ArgReduce; });
}

// Whether all accesses that are made in vectors lie on whole ones.
std::string KernelPrinter::aligned_test() const {
    std::string s;
    for (const auto& [pointer, bytes] : aligned_)
        s += (s.empty() ? "(u64)" : " && (u64)") + pointer + " % " + std::to_string(bytes) + " == 0";
    return s.empty() ? "true" : s;
}

void KernelPrinter::body(int lane, const std::string& words) {
    for (int i = 0; i < count(); ++i) {
        if (!innermost(i) || (nest().full_depth() == 0 && stmt(i).kind == StmtKind::Scalar)) continue;
        bool vector = lane >= 0 && vector_access(i);
        switch (stmt(i).kind) {
            case StmtKind::Load: {
                if (const std::string* known = row_value(i)) {
                    names_[static_cast<size_t>(i)] = *known;
                    break;
                }
                if (tiled(i)) {
                    load(i, tile_element(i, lane));
                    break;
                }
                Stage* stage = stage_of(i);
                bool staged = stage && stage->filled;
                load(i, vector   ? lane_of(i, words, lane)
                        : staged ? "r_" + variable("s", i) + "[k]"
                                 : element(i));
                if (stage && !stage->filled && lane < 0)
                    out_.line("if (staged) " + stage->name + "[k] = " + names_[static_cast<size_t>(i)] + ";");
                break;
            }
            case StmtKind::Store:
                if (tiled(i))
                    store(i, tile_element(i, lane));
                else if (vector)
                    set_lane(i, words, lane, names_[static_cast<size_t>(stmt(i).in[0])]);
                else
                    store(i, element(i));
                break;
            case StmtKind::Reduce:
            case StmtKind::ArgReduce: break;
            default: compute(i);
        }
    }
}

// What is done once per row, behind the reductions; `writer` is the condition of the thread that stores.
void KernelPrinter::row_statements(const std::string& writer) {
    std::vector<char> behind = behind_reductions(nest());
    for (int i = 0; i < count(); ++i) {
        const Stmt& s = stmt(i);
        if (innermost(i) ||
            (s.depth == 0 && !behind[static_cast<size_t>(i)] && s.kind != StmtKind::SetScalar))
            continue;
        switch (s.kind) {
            case StmtKind::Load:
                if (const std::string* known = row_value(i))
                    names_[static_cast<size_t>(i)] = *known;
                else
                    load(i, element(i));
                break;
            case StmtKind::Store: {
                const std::string& v = names_[static_cast<size_t>(s.in[0])];
                row_values_.emplace_back(&s.access, v);
                if (!stays_in_rows(i)) out_.line("if (" + writer + ") " + element(i) + " = " + v + ";");
                break;
            }
            case StmtKind::SetScalar:
                out_.line("if (" + writer + ") *" + param(CudaParamKind::Result, s.slot) + " = " +
                          names_[static_cast<size_t>(s.in[0])] + ";");
                break;
            case StmtKind::Reduce:
            case StmtKind::ArgReduce: break;
            default: compute(i);
        }
    }
}

}  // namespace cuda
}  // namespace stator::kernels
