// The guard program against real objects: what each guard accepts, rejects and says. Programs are built as
// the recorder builds them and checked from slots.
#include <gtest/gtest.h>

#include "guards/check/check.h"

namespace stator::guards {
namespace {

using graph::DType;
using graph::Layout;

// Python expressions, evaluated in one namespace that has numpy as np.
struct Python {
    PyObject* globals;
    std::vector<PyObject*> kept;
    Python() {
        std::string error;
        EXPECT_TRUE(init(&error)) << error;
        globals = PyDict_New();
        run("import numpy as np, types\nfrom builtins import *");
    }
    ~Python() {
        for (PyObject* o : kept) Py_XDECREF(o);
        Py_DECREF(globals);
    }
    void run(const char* text) {
        PyObject* r = PyRun_String(text, Py_file_input, globals, globals);
        if (!r) PyErr_Print();
        ASSERT_NE(r, nullptr) << text;
        Py_DECREF(r);
    }
    PyObject* operator()(const char* text) {
        PyObject* r = PyRun_String(text, Py_eval_input, globals, globals);
        if (!r) PyErr_Print();
        EXPECT_NE(r, nullptr) << text;
        kept.push_back(r);
        return r;
    }
    PyObject* builtins() { return PyEval_GetBuiltins(); }
    PyObject* str(const char* s) {
        kept.push_back(PyUnicode_InternFromString(s));
        return kept.back();
    }
};

// A finished program with the buffers it fills.
struct Checked {
    GuardProgram& p;
    const graph::SymTable& syms;
    std::vector<PyObject*> objects, inputs, owned;
    std::vector<int64_t> symbols;
    std::vector<char> scalars;
    EntryState state;

    Checked(GuardProgram& program, const graph::SymTable& s, int n)
        : p(program),
          syms(s),
          objects(static_cast<size_t>(p.source_count())),
          inputs(static_cast<size_t>(n)),
          owned(static_cast<size_t>(p.source_count())),
          symbols(static_cast<size_t>(s.symbol_count()) + 1),
          scalars(16 * static_cast<size_t>(n) + 16) {
        state = {objects.data(), symbols.data(), scalars.data(), inputs.data(), 0, owned.data()};
    }
    void release() {
        while (state.owned_count > 0) Py_DECREF(state.owned[--state.owned_count]);
    }
    // "" when every guard holds, else the explanation of the one that failed.
    std::string operator()(std::vector<PyObject*> slots) {
        int failed = p.check(slots.data(), state);
        EXPECT_EQ(PyErr_Occurred(), nullptr);
        if (failed < 0) {
            std::vector<int64_t> exprs(static_cast<size_t>(syms.size()));
            EXPECT_TRUE(syms.eval_all({symbols.data(), static_cast<size_t>(syms.symbol_count())}, exprs));
            failed = p.check_relations(exprs);
            release();
        }
        EXPECT_EQ(state.owned_count, 0);
        if (failed < 0) return "";
        const std::string s = p.explain(failed, slots.data());
        EXPECT_EQ(PyErr_Occurred(), nullptr);
        return s;
    }
};

ArraySpec spec(DType t, std::vector<graph::Sym> shape, Layout layout = Layout::Contiguous,
               std::vector<int> perm = {}) {
    const int n = static_cast<int>(shape.size());
    return {t, n, layout, std::move(perm), std::move(shape), false};
}

TEST(Guards, OneArray) {
    Python py;
    graph::SymTable syms;
    GuardProgram p;
    const auto n = syms.symbol(5, 2, INT64_MAX, "s0");
    p.expect_array(p.slot(0, "x"), 0, spec(DType::F64, {n}));
    p.finish(syms, 1);
    Checked check(p, syms, 1);
    EXPECT_EQ(check({py("np.ones(5)")}), "");
    EXPECT_EQ(check.symbols[0], 5);
    EXPECT_EQ(check({py("np.ones(7)")}), "");
    EXPECT_EQ(check.symbols[0], 7);
    EXPECT_EQ(p.text(0), "x is an ndarray, float64[s0], contiguous in C order");
    EXPECT_EQ(check({py("np.ones(1)")}), "expected x.shape[0] >= 2, found 1 (shape (1,))");
    EXPECT_EQ(check({py("np.ones((2, 3))")}), "expected x.ndim == 1, found 2 (shape (2, 3))");
    EXPECT_EQ(check({py("np.ones(5, 'f4')")}),
              "expected x.dtype to be float64, found an ndarray of float32, shape (5,)");
    EXPECT_EQ(
        check({py("np.ones(5, '>f8')")}),
        "expected x.dtype to be float64, found an ndarray of float64 in foreign byte order, shape (5,)");
    EXPECT_EQ(check({py("np.ones(10)[::2]")}),
              "expected x to be contiguous in C order, found strides (16,) for shape (5,)");
    EXPECT_EQ(check({py("np.ones(5)[::-1]")}),
              "expected x to be contiguous in C order, found strides (-8,) for shape (5,)");
    EXPECT_EQ(check({py("np.ones(41, 'u1')[1:].view('f8')")}),
              "expected x to be aligned, found an unaligned array");
    EXPECT_EQ(check({py("3.0")}), "expected x to be an ndarray, found 3.0");
    EXPECT_EQ(check({py("np.ma.ones(5)")}),
              "expected x to be an ndarray, found an object of type MaskedArray");
    EXPECT_EQ(check({nullptr}), "expected x to be readable as when it was recorded, found nothing there");
    EXPECT_EQ(check({py("np.frombuffer(bytes(40))")}), "");  // read-only is fine unless written
    EXPECT_EQ(check({py("np.ones(5, np.dtype('f8', metadata={'unit': 'm'}))")}).substr(0, 24),
              "expected x.dtype to be f");
}

TEST(Guards, ExtentsAndRelations) {
    Python py;
    graph::SymTable syms;
    GuardProgram p;
    const auto n = syms.symbol(5, 2, INT64_MAX, "s0"), m = syms.symbol(6, 2, INT64_MAX, "s1");
    p.expect_array(p.slot(0, "x"), 0, spec(DType::F64, {n, syms.constant(1)}));
    p.expect_array(p.slot(1, "y"), 1, spec(DType::F64, {n, m}));
    p.expect_relation(Relation::Ge, m, syms.add(n, syms.constant(1)));
    p.finish(syms, 2);
    Checked check(p, syms, 2);
    EXPECT_EQ(check({py("np.ones((5, 1))"), py("np.ones((5, 6))")}), "");
    EXPECT_EQ(check({py("np.ones((5, 2))"), py("np.ones((5, 6))")}),
              "expected x.shape[1] == 1, found 2 (shape (5, 2))");
    EXPECT_EQ(check({py("np.ones((5, 1))"), py("np.ones((4, 6))")}),
              "expected y.shape[0] == s0, which is 5, found 4 (shape (4, 6))");
    const std::string s = check({py("np.ones((5, 1))"), py("np.ones((5, 5))")});
    EXPECT_NE(s.find("expected"), s.npos);
    EXPECT_NE(s.find("s1 = 5"), s.npos) << s;
    EXPECT_EQ(check({py("np.ones((1, 5)).T"), py("np.ones((5, 6))")}), "");  // extent 1: both orders at once
}

TEST(Guards, Layouts) {
    Python py;
    graph::SymTable syms;
    const auto n = syms.symbol(4, 2, INT64_MAX, "s0"), m = syms.symbol(6, 2, INT64_MAX, "s1");
    const auto accepts = [&](Layout layout, std::vector<int> perm, const char* text) {
        GuardProgram p;
        p.expect_array(p.slot(0, "x"), 0, spec(DType::F64, {n, m}, layout, perm));
        p.finish(syms, 1);
        Checked check(p, syms, 1);
        return check({py(text)}).empty();
    };
    EXPECT_TRUE(accepts(Layout::Contiguous, {}, "np.ones((4, 6))"));
    EXPECT_FALSE(accepts(Layout::Contiguous, {}, "np.ones((6, 4)).T"));
    EXPECT_TRUE(accepts(Layout::Contiguous, {1, 0}, "np.ones((6, 4)).T"));
    EXPECT_FALSE(accepts(Layout::Contiguous, {1, 0}, "np.ones((4, 6))"));
    EXPECT_FALSE(accepts(Layout::Contiguous, {}, "np.ones((4, 8))[:, :6]"));
    EXPECT_TRUE(accepts(Layout::InnerDense, {}, "np.ones((4, 8))[:, :6]"));
    EXPECT_TRUE(accepts(Layout::InnerDense, {}, "np.ones((8, 6))[::-2]"));
    EXPECT_TRUE(accepts(Layout::InnerDense, {}, "np.ones((4, 6))"));
    EXPECT_FALSE(accepts(Layout::InnerDense, {}, "np.ones((4, 12))[:, ::2]"));
    EXPECT_FALSE(accepts(Layout::InnerDense, {}, "np.ones((8, 4)).T[:, :6]"));
    EXPECT_TRUE(accepts(Layout::InnerDense, {1, 0}, "np.ones((8, 4)).T[:, :6]"));
    EXPECT_TRUE(accepts(Layout::Strided, {}, "np.ones((4, 12))[:, ::-2]"));
    EXPECT_FALSE(accepts(Layout::Strided, {}, "np.ones((12, 8)).T[::2, ::2]"));
    EXPECT_TRUE(accepts(Layout::Strided, {1, 0}, "np.ones((12, 8)).T[::2, ::2]"));
    EXPECT_TRUE(accepts(Layout::Strided, {}, "np.broadcast_to(np.ones(6), (4, 6))"));
    EXPECT_FALSE(accepts(Layout::Strided, {1, 0}, "np.broadcast_to(np.ones((4, 1)), (4, 6))"));
    // A field of a record: aligned, but not in steps of whole elements.
    EXPECT_FALSE(accepts(Layout::Strided, {}, "np.ones((4, 6), 'c16,f8')['f1'][:, :6]") !=
                 accepts(Layout::Strided, {}, "np.ones((4, 6), 'c16,f8')['f1']"));
}

TEST(Guards, MemoryOrderIsNumpys) {
    Python py;
    // K-order copies show the order in which NumPy's iterator sees an array.
    for (const char* text :
         {"np.ones((3, 4, 5))", "np.ones((3, 4, 5)).T", "np.ones((3, 4, 5)).transpose(1, 0, 2)",
          "np.ones((3, 4, 5)).transpose(2, 0, 1)[::-1]", "np.ones((5, 4, 3)).T[:, ::2, ::-1]",
          "np.broadcast_to(np.ones((3, 1, 5)), (3, 4, 5)).transpose(2, 1, 0)",
          "np.asfortranarray(np.ones((4, 2, 5)))[:, :1]", "np.ones((5, 4, 8)).T[:, ::2, :1]",
          "np.broadcast_to(np.ones((5, 6)).T, (4, 6, 5))", "np.ones((2, 3, 4, 5)).transpose(3, 1, 0, 2)"}) {
        PyObject* a = py(text);
        py.run("def order(s): return sorted(range(len(s)), key=lambda i: -s[i])");
        PyDict_SetItemString(py.globals, "a", a);
        PyObject* k = py("(a + 1).strides");
        std::vector<Py_ssize_t> shape, strides, expected;
        PyObject *pshape = py("a.shape"), *pstrides = py("a.strides");
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(k); ++i) {
            shape.push_back(PyLong_AsSsize_t(PyTuple_GET_ITEM(pshape, i)));
            strides.push_back(PyLong_AsSsize_t(PyTuple_GET_ITEM(pstrides, i)));
            expected.push_back(PyLong_AsSsize_t(PyTuple_GET_ITEM(k, i)));
        }
        const int rank = static_cast<int>(shape.size());
        std::vector<int> perm(shape.size());
        memory_order(rank, shape.data(), strides.data(), perm.data());
        Py_ssize_t step = 8;
        for (int i = rank; i-- > 0;) {
            EXPECT_EQ(expected[static_cast<size_t>(perm[static_cast<size_t>(i)])], step) << text;
            step *= shape[static_cast<size_t>(perm[static_cast<size_t>(i)])];
        }
    }
}

TEST(Guards, WrittenArrays) {
    Python py;
    graph::SymTable syms;
    GuardProgram p;
    const auto n = syms.symbol(5, 2, INT64_MAX, "s0");
    p.expect_array(p.slot(0, "x"), 0, spec(DType::F64, {n}, Layout::Strided));
    p.expect_array(p.slot(1, "y"), 1, spec(DType::F64, {n}, Layout::Strided));
    p.require_writeable(0);
    p.finish(syms, 2);
    Checked check(p, syms, 2);
    PyObject* a = py("np.zeros(12)");
    PyDict_SetItemString(py.globals, "a", a);
    EXPECT_EQ(check({py("a[:5]"), py("a[5:10]")}), "");
    EXPECT_EQ(check({py("a[5:10][::-1]"), py("a[:5]")}), "");
    EXPECT_EQ(check({py("a[:5]"), py("a[4:9]")}),
              "expected x, which is written, to share no memory with y, found that they overlap");
    PyObject* b = py("a[:5]");
    EXPECT_EQ(check({b, b}),
              "expected x, which is written, to share no memory with y, found one and the same array");
    EXPECT_EQ(check({py("np.frombuffer(bytes(40))"), b}),
              "expected x to be writeable, found a read-only array");
    EXPECT_EQ(check({py("np.lib.stride_tricks.as_strided(a, (5,), (0,))"), py("np.ones(5)")}),
              "expected the elements of x to lie apart, found an array that overlaps itself");
}

TEST(Guards, SelfOverlap) {
    Python py;
    graph::SymTable syms;
    GuardProgram p;
    const auto n = syms.symbol(4, 2, INT64_MAX, "s0"), m = syms.symbol(3, 2, INT64_MAX, "s1");
    p.expect_array(p.slot(0, "x"), 0, spec(DType::F64, {n, m}, Layout::Strided));
    p.require_writeable(0);
    p.finish(syms, 1);
    Checked check(p, syms, 1);
    py.run("a = np.zeros((40,)); strided = np.lib.stride_tricks.as_strided");
    EXPECT_EQ(check({py("strided(a, (4, 3), (24, 8))")}), "");
    EXPECT_EQ(check({py("strided(a, (4, 3), (32, 8))[::-1, ::-1]")}), "");
    EXPECT_NE(check({py("strided(a, (4, 3), (8, 8))")}), "");
    EXPECT_NE(check({py("strided(a, (4, 3), (16, 8))")}), "");
    EXPECT_NE(check({py("strided(a, (4, 3), (8, 0))")}), "");
}

TEST(Guards, Scalars) {
    Python py;
    graph::SymTable syms;
    GuardProgram p;
    const auto k = syms.symbol(3, 0, 100, "k");
    p.expect_int(p.slot(0, "k"), 0, k);
    p.expect_float(p.slot(1, "f"), 1);
    p.expect_bool(p.slot(2, "b"), 2);
    p.expect_complex(p.slot(3, "c"), 3);
    p.expect_np_scalar(p.slot(4, "s"), 4, reinterpret_cast<PyTypeObject*>(py("np.float32")), DType::F32);
    p.finish(syms, 5);
    Checked check(p, syms, 5);
    std::vector<PyObject*> slots = {py("7"), py("1.5"), py("True"), py("1-2j"), py("np.float32(0.25)")};
    EXPECT_EQ(check(slots), "");
    EXPECT_EQ(check.symbols[0], 7);
    EXPECT_EQ(*reinterpret_cast<int64_t*>(check.scalars.data()), 7);
    EXPECT_EQ(*reinterpret_cast<double*>(check.scalars.data() + 16), 1.5);
    EXPECT_EQ(check.scalars[32], 1);
    EXPECT_EQ(*reinterpret_cast<double*>(check.scalars.data() + 56), -2.0);
    EXPECT_EQ(*reinterpret_cast<float*>(check.scalars.data() + 64), 0.25f);
    EXPECT_EQ(check.inputs[4], slots[4]);
    const auto with = [&](size_t i, const char* text) {
        auto changed = slots;
        changed[i] = py(text);
        return check(changed);
    };
    EXPECT_EQ(with(0, "101"), "expected k is an int in [0, 100], found 101");
    EXPECT_EQ(with(0, "2**70"), "expected k is an int in [0, 100], found an int of more than 64 bits");
    EXPECT_EQ(with(0, "True"), "expected k is an int in [0, 100], found True");
    EXPECT_EQ(with(1, "np.float64(1)"), "expected f to be a float, found an object of type numpy.float64");
    EXPECT_EQ(with(2, "1"), "expected b to be a bool, found 1");
    EXPECT_EQ(with(3, "1.0"), "expected c to be a complex, found 1.0");
    EXPECT_EQ(with(4, "np.float64(1)"),
              "expected s is a numpy float32 scalar, found an object of type numpy.float64");
}

TEST(Guards, RankZeroArraysAreReadAsScalars) {
    Python py;
    graph::SymTable syms;
    GuardProgram p;
    p.expect_array(p.slot(0, "x"), 0, spec(DType::F32, {}));
    p.finish(syms, 1);
    Checked check(p, syms, 1);
    EXPECT_EQ(check({py("np.array(2.5, 'f4')")}), "");
    EXPECT_EQ(*reinterpret_cast<float*>(check.scalars.data()), 2.5f);
    EXPECT_EQ(p.text(0), "x is an ndarray, float32[]");
}

TEST(Guards, ConstantsByValue) {
    Python py;
    graph::SymTable syms;
    GuardProgram p;
    p.expect_equal(p.slot(0, "axis"), py("(0, -1)"));
    p.expect_equal(p.slot(1, "x"), py("0.0"));
    p.expect_equal(p.slot(2, "mode"), py("'edge'"));
    p.expect_equal(p.slot(3, "part"), py("slice(1, None, 2)"));
    p.finish(syms, 0);
    Checked check(p, syms, 0);
    std::vector<PyObject*> slots = {py("tuple([0, -1])"), py("0.0"), py("'ed' + 'ge'"),
                                    py("slice(1, None, 2)")};
    EXPECT_EQ(check(slots), "");
    const auto with = [&](size_t i, const char* text) {
        auto changed = slots;
        changed[i] = py(text);
        return check(changed);
    };
    EXPECT_EQ(with(0, "(0, 1)"), "expected axis == (0, -1), found (0, 1)");
    EXPECT_EQ(with(0, "(0, True)"), "expected axis == (0, -1), found (0, True)");
    EXPECT_EQ(with(1, "-0.0"), "expected x == 0.0, found -0.0");
    EXPECT_EQ(with(1, "0"), "expected x == 0.0, found 0");
    EXPECT_EQ(with(2, "'wrap'"), "expected mode == 'edge', found 'wrap'");
    EXPECT_EQ(with(3, "slice(1, None)"), "expected part == slice(1, None, 2), found slice(1, None, None)");
}

TEST(Guards, Globals) {
    Python py;
    py.run("scale = 2.0");
    graph::SymTable syms;
    GuardProgram p;
    const SourceId np = p.global(py.globals, py.builtins(), py.str("np"));
    const SourceId exp = p.attr(np, py.str("exp"));
    const SourceId len = p.global(py.globals, py.builtins(), py.str("len"));
    p.expect_is(np, py("np"));
    p.expect_is(exp, py("np.exp"));
    p.expect_is(len, py("len"));
    p.expect_float(p.global(py.globals, py.builtins(), py.str("scale")), 0);
    p.finish(syms, 1);
    Checked check(p, syms, 1);
    EXPECT_EQ(p.source(exp).text, "np.exp");
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(check({}), "");
        EXPECT_EQ(check.objects[static_cast<size_t>(exp)], py("np.exp"));
    }
    py.run("other = 1");
    EXPECT_EQ(check({}), "");
    py.run("scale = 3.0");
    EXPECT_EQ(check({}), "");
    EXPECT_EQ(*reinterpret_cast<double*>(check.scalars.data()), 3.0);
    py.run("scale = 3");
    EXPECT_EQ(check({}), "expected scale to be a float, found 3");
    py.run("scale = 3.0; exp = np.exp; np.exp = np.sin");
    EXPECT_EQ(check({}), "expected np.exp to be ufunc exp, found ufunc sin");
    py.run("np.exp = exp");
    EXPECT_EQ(check({}), "");
    py.run("len = max");
    EXPECT_EQ(check({}), "expected len to be builtin len, found builtin max");
    py.run("del scale; len = len.__self__.len");
    EXPECT_EQ(check({}).substr(0, 27), "expected scale to be readab");
}

TEST(Guards, AttributesNeverRunCode) {
    Python py;
    py.run(R"(
ran = []
class Plain:
    limit = 3
    def step(self): pass
    @staticmethod
    def helper(): pass
    @property
    def computed(self): ran.append('property'); return 1
class Slots:
    __slots__ = ('a', 'b')
class Getattr:
    def __getattr__(self, name): ran.append('getattr'); return 1
class Getattribute:
    def __getattribute__(self, name): ran.append('getattribute'); return 1
class Descriptor:
    def __get__(self, *a): ran.append('get'); return 1
class Meta(type):
    @property
    def on_meta(cls): ran.append('meta'); return 1
class WithMeta(metaclass=Meta):
    d = Descriptor()
    k = 5
p = Plain(); p.x = 1.0
s = Slots(); s.a = 2.0
g = Getattr(); g.x = 1
w = WithMeta()
shadow = Plain(); shadow.step = Plain.step
)");
    using Place = GuardProgram::AttrPlace;
    const auto place = [&](const char* obj, const char* name) {
        PyObject* value = nullptr;
        const Place found = GuardProgram::classify_attr(py(obj), py.str(name), &value);
        EXPECT_EQ(value != nullptr, found != Place::Unreadable);
        return found;
    };
    EXPECT_EQ(place("p", "x"), Place::Instance);
    EXPECT_EQ(place("p", "limit"), Place::ClassAttr);
    EXPECT_EQ(place("p", "step"), Place::Method);
    EXPECT_EQ(place("p", "helper"), Place::ClassAttr);
    EXPECT_EQ(place("p", "computed"), Place::Unreadable);
    EXPECT_EQ(place("p", "missing"), Place::Unreadable);
    EXPECT_EQ(place("shadow", "step"), Place::Unreadable);
    EXPECT_EQ(place("Plain", "step"), Place::ClassAttr);
    EXPECT_EQ(place("Plain", "limit"), Place::ClassAttr);
    EXPECT_EQ(place("s", "a"), Place::Instance);
    EXPECT_EQ(place("s", "b"), Place::Unreadable);
    EXPECT_EQ(place("g", "x"), Place::Unreadable);
    EXPECT_EQ(place("Getattribute()", "x"), Place::Unreadable);
    EXPECT_EQ(place("w", "d"), Place::Unreadable);
    EXPECT_EQ(place("WithMeta", "d"), Place::Unreadable);
    EXPECT_EQ(place("WithMeta", "on_meta"), Place::Unreadable);
    EXPECT_EQ(place("WithMeta", "k"), Place::ClassAttr);
    EXPECT_EQ(place("np", "add"), Place::Module);
    EXPECT_EQ(place("np", "__dict__"), Place::Unreadable);
    EXPECT_EQ(place("np", "no_such_name"), Place::Unreadable);
    EXPECT_EQ(place("np.ones(3)", "sum"), Place::Method);
    EXPECT_EQ(place("np.ones(3)", "T"), Place::Unreadable);
    EXPECT_EQ(place("[]", "append"), Place::Method);
    EXPECT_EQ(PyObject_Length(py("ran")), 0);
}

TEST(Guards, AttributeChains) {
    Python py;
    py.run(R"(
class Grid: pass
class Model:
    dx = 2.0
    def step(self): pass
m = Model(); m.grid = Grid(); m.grid.u = np.ones(5); m.grid.parts = [1.0, (2.0, 3.0)]; m.table = {'k': 4.0}
)");
    graph::SymTable syms;
    GuardProgram p;
    const auto n = syms.symbol(5, 2, INT64_MAX, "s0");
    const SourceId self = p.slot(0, "self");
    const SourceId grid = p.attr(self, py.str("grid")), u = p.attr(grid, py.str("u"));
    const SourceId dx = p.attr(self, py.str("dx")), step = p.attr(self, py.str("step"));
    const SourceId part = p.item(p.item(p.attr(grid, py.str("parts")), py("1")), py("0"));
    const SourceId entry = p.item(p.attr(self, py.str("table")), py.str("k"));
    p.expect_type_attrs(self, reinterpret_cast<PyTypeObject*>(py("Model")), py.str("step"));
    p.expect_array(u, 0, spec(DType::F64, {n}));
    p.expect_float(dx, 1);
    p.expect_function(step, py("Model.step"));
    p.expect_float(part, 2);
    p.expect_float(entry, 3);
    p.finish(syms, 4);
    Checked check(p, syms, 4);
    EXPECT_EQ(p.source(part).text, "self.grid.parts[1][0]");
    EXPECT_EQ(p.source(entry).text, "self.table['k']");
    PyObject* m = py("m");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(check({m}), "");
    py.run("m.dx = 5.0");
    EXPECT_EQ(check({m}), "");
    EXPECT_EQ(*reinterpret_cast<double*>(check.scalars.data() + 16), 5.0);
    py.run("m.grid.u = np.ones(9)");
    EXPECT_EQ(check({m}), "");
    EXPECT_EQ(check.symbols[0], 9);
    py.run("m.grid.u = np.ones(9, 'f4')");
    EXPECT_EQ(check({m}),
              "expected self.grid.u.dtype to be float64, found an ndarray of float32, shape (9,)");
    py.run("m.grid.u = np.ones(9); old = Model.step; Model.step = lambda self: 1");
    EXPECT_EQ(check({m}), "expected Model.step as it was, found it changed");
    py.run("Model.step = old; m.step = old");
    EXPECT_EQ(check({m}),
              "expected self.step to be the method of its class, found an attribute of the object itself");
    py.run("del m.step");
    EXPECT_EQ(check({m}), "");
    py.run("Grid.u = property(lambda self: 1)");
    EXPECT_EQ(
        check({m}),
        "expected self.grid.u to be readable as when it was recorded, found that it is missing or would run "
        "Python code");
    py.run("del Grid.u; m.grid.parts[1] = (2, 3.0)");
    EXPECT_EQ(check({m}), "expected self.grid.parts[1][0] to be a float, found 2");
    py.run("m.grid.parts.pop()");
    EXPECT_EQ(check({m}).substr(0, 35), "expected self.grid.parts[1] to be r");
}

TEST(Guards, Functions) {
    Python py;
    py.run(R"(
def make(k):
    def f(x, a=1, *, b=2): return x * k
    return f
f = make(1.0)
)");
    graph::SymTable syms;
    GuardProgram p, q;
    p.expect_function(p.slot(0, "f"), py("f"));
    q.expect_function(q.slot(0, "f"), py("f"), /*same_closure=*/false);
    const SourceId k = q.cell(q.func_cell(q.slot(0, "f"), 0, "f.__closure__[0]"), "k");
    q.expect_float(k, 0);
    p.finish(syms, 0);
    q.finish(syms, 1);
    Checked check(p, syms, 0), loose(q, syms, 1);
    EXPECT_EQ(check({py("f")}), "");
    EXPECT_NE(check({py("make(2.0)")}), "");
    EXPECT_EQ(loose({py("make(2.0)")}), "");
    EXPECT_EQ(*reinterpret_cast<double*>(loose.scalars.data()), 2.0);
    py.run("f.__kwdefaults__['b'] = 3");
    EXPECT_EQ(check({py("f")}), "expected f to have the code and defaults it had, found them changed");
    py.run("f.__kwdefaults__['b'] = 2");
    EXPECT_EQ(check({py("f")}), "");
    py.run("f.__defaults__ = (7,)");
    EXPECT_NE(check({py("f")}), "");
    EXPECT_EQ(check({py("3")}), "expected f to be function make.<locals>.f, found 3");
}

TEST(Guards, IdentityLengthAndPresence) {
    Python py;
    py.run("class A: pass\na = A(); a.unused = 1");
    graph::SymTable syms;
    GuardProgram p;
    const SourceId x = p.slot(0, "x"), y = p.slot(1, "y"), z = p.slot(2, "z");
    p.expect_same(x, y);
    p.expect_not_same(x, z);
    p.expect_length(z, 2);
    p.attr(x, py.str("unused"));
    p.expect_type(p.type_of(x), &PyType_Type);
    p.finish(syms, 0);
    Checked check(p, syms, 0);
    PyObject *a = py("a"), *pair = py("(1, 2)");
    EXPECT_EQ(check({a, a, pair}), "");
    EXPECT_EQ(check({a, pair, pair}), "expected x is y, found an object of type A");
    EXPECT_EQ(check({a, a, py("(1,)")}), "expected len(z) == 2, found (1,)");
    py.run("del a.unused");
    EXPECT_EQ(check({a, a, pair}).substr(0, 30), "expected x.unused to be readab");
}

TEST(Guards, RollbackAndDeduplication) {
    Python py;
    graph::SymTable syms;
    GuardProgram p;
    const SourceId x = p.slot(0, "x");
    p.expect_type(x, &PyFloat_Type);
    p.expect_float(x, 0);
    p.expect_float(x, 0);
    const auto mark = p.mark();
    PyObject* big = py("object()");
    const Py_ssize_t before = Py_REFCNT(big);
    p.expect_is(p.slot(1, "y"), big);
    EXPECT_GT(Py_REFCNT(big), before);
    p.rollback(mark);
    EXPECT_EQ(Py_REFCNT(big), before);
    p.finish(syms, 1);
    EXPECT_EQ(p.texts(), (std::vector<std::string>{"type(x) is float"}));
}

}  // namespace
}  // namespace stator::guards
