// A C++ program that uses the runtime and has a Python inside, whose scripts tell the runtime what to do.
//
//   hosting HOME SCRIPT RUNTIME
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

void (*runtime_obey)(const char*, char*, size_t);

void obey(const char* order) {
    char answer[4096];
    runtime_obey(order, answer, sizeof answer);
}

PyObject* obey_python(PyObject*, PyObject* argument) {
    const char* order = PyUnicode_AsUTF8(argument);
    if (order == nullptr) return nullptr;
    Py_BEGIN_ALLOW_THREADS;
    obey(order);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

int run(const char* home, const char* script) {
    static PyMethodDef method{"obey", obey_python, METH_O, nullptr};
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    PyConfig_SetBytesString(&config, &config.home, home);
    if (PyStatus_Exception(Py_InitializeFromConfig(&config)) != 0) return 3;
    PyConfig_Clear(&config);
    PyObject* function = PyCFunction_New(&method, nullptr);
    PyDict_SetItemString(PyModule_GetDict(PyImport_AddModule("__main__")), "obey", function);
    Py_DECREF(function);
    std::FILE* file = std::fopen(script, "r");
    const int status = PyRun_SimpleFileEx(file, script, 1);
    return Py_FinalizeEx() != 0 ? 4 : status;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    void* runtime = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
    if (runtime == nullptr) return 2;
    runtime_obey = reinterpret_cast<decltype(runtime_obey)>(dlsym(runtime, "fake_obey"));
    obey("open 1 1 0");
    obey("churn 1 5000 300");           // before there is a Python
    obey("buffer 1 1 DRAM 8192 2048");  // nobody's line
    return run(argv[1], argv[2]);
}
