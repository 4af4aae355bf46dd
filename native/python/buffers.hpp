// The bytes of any Python object that has some.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

namespace ttmem {

/// As long as this lives.
class View {
public:
    explicit View(nanobind::handle from) {
        if (PyObject_GetBuffer(from.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nanobind::python_error();
    }
    ~View() { PyBuffer_Release(&view_); }
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    std::string_view bytes() const { return {static_cast<const char*>(view_.buf), static_cast<size_t>(view_.len)}; }

private:
    Py_buffer view_{};
};

}  // namespace ttmem
