// TraceBuilder: objects of classes in Python that a trace makes.
//
// Such an object is `object.__new__(class)` and the attributes that were stored since. Nobody has seen it, so
// where it leaves the trace it is made anew, and its attributes are put in as what cells hold is: objects may
// refer to each other. What is found on its class is guarded by means of another object of that class, which
// the trace keeps.

#include "frontend/trace_builder/trace_builder.h"

#include <algorithm>
#include <new>
#include <vector>

namespace stator::frontend {

namespace {

bool has_plain_metaclass(PyTypeObject* type) {
    const PyTypeObject* meta = Py_TYPE(reinterpret_cast<PyObject*>(type));
    return meta->tp_call == PyType_Type.tp_call && meta->tp_getattro == PyType_Type.tp_getattro;
}

// Whether a named tuple is asked for its length, its items and its truth, compared and added to as any tuple:
// a trace knows its items and does that without asking its class. (`sq_item` of a class made in Python is no
// tuple's in any case: `mp_subscript` tells whether there is a `__getitem__`.)
bool has_ways_of_tuples(const PyTypeObject* type) {
    const PyTypeObject& tuple = PyTuple_Type;
    const PySequenceMethods *own = type->tp_as_sequence, *plain = tuple.tp_as_sequence;
    const bool sequence = own && own->sq_length == plain->sq_length && own->sq_concat == plain->sq_concat &&
                          own->sq_repeat == plain->sq_repeat && own->sq_contains == plain->sq_contains &&
                          !own->sq_inplace_concat && !own->sq_inplace_repeat;
    const PyNumberMethods* n = type->tp_as_number;
    const bool number =
        n && (n->nb_bool || n->nb_add || n->nb_multiply || n->nb_inplace_add || n->nb_inplace_multiply);
    return sequence && !number && type->tp_as_mapping &&
           type->tp_as_mapping->mp_subscript == tuple.tp_as_mapping->mp_subscript &&
           type->tp_iter == tuple.tp_iter && type->tp_richcompare == tuple.tp_richcompare;
}

PyObject* kept_name(const char* name) {
    PyObject* text = PyUnicode_InternFromString(name);
    if (!text) throw std::bad_alloc();
    static auto* const kept = new std::vector<PyRef>;  // names of this file, of which there are few
    if (std::ranges::none_of(*kept, [&](const PyRef& k) { return k.get() == text; }))
        kept->push_back(PyRef::borrow(text));
    Py_DECREF(text);
    return text;
}

// What making an object of the class asks it for; of a named tuple also what has_ways_of_tuples has seen,
// what `_replace` runs, and the fields.
std::vector<PyObject*> ways_to_objects(PyTypeObject* type, bool named) {
    std::vector<PyObject*> names;
    for (const char* name : {"__new__", "__init__", "__setattr__", "__getattribute__", "__getattr__",
                             "__del__", "__abstractmethods__"})
        names.push_back(kept_name(name));
    if (!named) return names;
    for (const char* name : {"__len__", "__iter__", "__getitem__", "__contains__", "__bool__", "__eq__",
                             "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__radd__",
                             "__iadd__", "__mul__", "__rmul__", "__imul__", "_make", "_fields"})
        names.push_back(kept_name(name));
    PyObject* fields = _PyType_Lookup(type, kept_name("_fields"));
    for (Py_ssize_t i = 0; fields && PyTuple_CheckExact(fields) && i < PyTuple_GET_SIZE(fields); ++i)
        names.push_back(PyTuple_GET_ITEM(fields, i));
    return names;
}

}  // namespace

const TraceBuilder::Example* TraceBuilder::example_of(PyTypeObject* type) {
    for (const auto& known : examples_)
        if (Py_IS_TYPE(known->object.get(), type)) return known.get();
    // An object that runs code when it goes away is no example of anything.
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || !has_plain_metaclass(type) || type->tp_finalize ||
        type->tp_del || type->tp_alloc != PyType_GenericAlloc)
        return nullptr;
    const bool named = PyType_IsSubtype(type, &PyTuple_Type);
    if (!named && (type->tp_new != PyBaseObject_Type.tp_new || type->tp_getattro != PyObject_GenericGetAttr ||
                   type->tp_itemsize != 0))
        return nullptr;
    if (named && !has_ways_of_tuples(type)) return nullptr;
    const PyRef nothing = PyRef::steal(PyTuple_New(0));
    const newfunc make = named ? PyTuple_Type.tp_new : PyBaseObject_Type.tp_new;
    PyRef object = PyRef::steal(make(type, nothing.get(), nullptr));
    if (!object) return PyErr_Clear(), nullptr;
    const auto source = guards.object(object.get(), std::string(type->tp_name) + "()");
    guards.expect_type_names(source, type, ways_to_objects(type, named));
    auto* const object_of_type = reinterpret_cast<PyObject*>(type);
    if (PyTypeObject* meta = Py_TYPE(object_of_type); meta != &PyType_Type) {
        std::vector<PyObject*> names;
        for (const char* name : {"__call__", "__getattribute__", "__getattr__"})
            names.push_back(kept_name(name));
        guards.expect_type_names(guards.object(object_of_type, type->tp_name), meta, names);
    }
    examples_.push_back(std::make_unique<Example>(Example{std::move(object), source}));
    return examples_.back().get();
}

ShadowRef TraceBuilder::new_instance(const Example& of) {
    static PyObject* const make =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__new__");
    auto s = std::make_shared<Shadow>();
    s->kind = ShadowKind::Instance;
    s->maker = {constant(make), tuple({}), constant(reinterpret_cast<PyObject*>(Py_TYPE(of.object.get())))};
    s->obj = of.object;
    s->example = of.source;
    return s;
}

bool TraceBuilder::attributes_of(const ShadowRef& instance, std::vector<graph::CellContents>* out) {
    for (size_t i = 0; i < instance->items.size(); i += 2) {
        graph::Recipe place;
        place.kind = graph::RecipeKind::Attr;
        place.items = {recipe(instance, nullptr), recipe(instance->items[i], nullptr)};
        const int32_t held = recipe(instance->items[i + 1], nullptr);
        if (place.items[0] < 0 || place.items[1] < 0 || held < 0) return false;
        out->push_back({graph.add_recipe(std::move(place)), held});
    }
    return true;
}

bool TraceBuilder::instance_contents(size_t* said, std::vector<graph::CellContents>* out) {
    for (; *said < instances_to_say_.size(); ++*said)
        if (!attributes_of(ShadowRef(instances_to_say_[*said]), out)) return false;
    return true;
}

bool TraceBuilder::contents_apart(const ShadowRef& s, std::vector<graph::CellContents>* out) {
    std::vector<ShadowRef> found{s};
    for (size_t next = 0; next < found.size(); ++next) {
        const ShadowRef at = found[next];
        if (at->source != guards::kNoSource) continue;
        if (at->kind == ShadowKind::Instance && !attributes_of(at, out)) return false;
        for (const ShadowRef& item : at->items)
            if (item && std::ranges::find(found, item) == found.end()) found.push_back(item);
    }
    return true;
}

}  // namespace stator::frontend
