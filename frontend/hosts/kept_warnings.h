// Warnings that C code gives (PyErr_WarnEx) in a call for which no frame stands. They would be told of at the
// line of whatever frame is innermost, which is the caller of the function that is replayed: here they are
// kept until it is known that the call is not made again, and told of where the program makes it.
//
// Interpreters look through warnings.filters for each warning. While one of these lives, an entry in front
// asks it first, and makes what this thread warns of ignored.
#pragma once

#include <utility>
#include <vector>

#include "frontend/pyref.h"

namespace stator::frontend {

class KeptWarnings {
  public:
    KeptWarnings();
    ~KeptWarnings();
    KeptWarnings(const KeptWarnings&) = delete;

    // After a fork, in the child.
    static void other_threads_are_gone();

    bool any() const { return !found_.empty(); }
    // Tells of them as if `file` had given them at `line`, in a frame with these globals. False: telling
    // raised an exception, because the program has made it one; it is dropped.
    bool tell(const char* file, int line, PyObject* globals);

    // For the filter, which is shown the text first and then the category.
    static KeptWarnings* of_this_thread();
    void hears(PyObject* text) { text_ = PyRef::borrow(text); }
    void keep(PyObject* category) { found_.emplace_back(PyRef::borrow(category), text_); }

  private:
    KeptWarnings* outer_;
    PyRef text_;
    std::vector<std::pair<PyRef, PyRef>> found_;  // category, text
};

}  // namespace stator::frontend
