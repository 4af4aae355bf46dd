// A C++ program with a Python inside and the walker of frames linked into it.
//
//   embedded HOME walked.py "" STORY COUNT    as that Python itself would run it
//   embedded HOME walked.py "" host COUNT     threads of C++ call into it, beside others that Python does not know; then it
//                                             ends, begins again, and is walked again
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "walker.cpp"

namespace {

constexpr int kThreads = 8, kStrangers = 2;

[[noreturn]] void fail(const char* why) {
    if (PyGILState_Check() != 0 && PyErr_Occurred() != nullptr) PyErr_Print();
    std::fprintf(stderr, "embedded: %s\n", why);
    std::_Exit(1);
}

void expect(bool is_true, const char* what) {
    if (!is_true) fail(what);
}

// The arguments are those of the script; HOME is where the modules of this Python are.
void begin(const char* home, int argc, char** argv, bool is_script) {
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.parse_argv = is_script ? 1 : 0;
    std::vector<char*> words(argv, argv + argc);
    if (is_script) words.insert(words.begin(), const_cast<char*>("embedded"));
    expect(PyStatus_Exception(PyConfig_SetBytesString(&config, &config.home, home)) == 0, "no home");
    expect(PyStatus_Exception(PyConfig_SetBytesArgv(&config, static_cast<Py_ssize_t>(words.size()), words.data())) == 0,
           "no arguments");
    expect(PyStatus_Exception(Py_InitializeFromConfig(&config)) == 0, "Python did not begin");
    PyConfig_Clear(&config);
}

PyObject* walked(const char* script) {
    const std::string folder = std::filesystem::path(script).parent_path();
    PyObject *path = PySys_GetObject("path"), *text = PyUnicode_FromString(folder.c_str());
    expect(PyList_Insert(path, 0, text) == 0, "no path");
    Py_DECREF(text);
    PyObject* module = PyImport_ImportModule("walked");
    expect(module != nullptr, "the script cannot be imported");
    return module;
}

long call(PyObject* module, const char* function, long first, long second) {
    PyObject* answer = PyObject_CallMethod(module, function, "ll", first, second);
    expect(answer != nullptr, function);
    const long number = PyLong_AsLong(answer);
    Py_DECREF(answer);
    return number;
}

void expect_nothing(const char* when) {
    char text[256];
    expect(walker_walk(text, sizeof text) == 0 && walker_repeat(10) == 0, when);
}

// How many stacks of its threads were equal.
long live(int argc, char** argv, long times) {
    begin(argv[1], argc - 2, argv + 2, false);
    PyObject* module = walked(argv[2]);
    PyThreadState* main_thread = PyEval_SaveThread();
    std::atomic<long> compared{0};
    std::atomic<int> working{kThreads};
    std::vector<std::thread> threads;
    for (int number = 0; number < kThreads; ++number)
        threads.emplace_back([&, number] {
            expect_nothing("a thread has frames before Python knows it");
            const PyGILState_STATE state = PyGILState_Ensure();
            compared += call(module, "walk_as_a_thread", times / kThreads, number);
            PyGILState_Release(state);
            --working;
            expect_nothing("a thread has frames that Python knows no longer");
        });
    for (int number = 0; number < kStrangers; ++number)
        threads.emplace_back([&] {
            while (working.load() != 0) expect_nothing("a stranger has frames");
        });
    for (std::thread& one : threads) one.join();
    PyEval_RestoreThread(main_thread);
    Py_DECREF(module);
    expect(Py_FinalizeEx() == 0, "Python did not end");
    expect_nothing("there are frames without an interpreter");
    return compared.load();
}

PyObject* walk_for_python(PyObject*, PyObject*) {
    static char text[4096];
    expect(walker_walk(text, sizeof text) >= 0, "no room");
    return PyUnicode_FromString(text);
}

// Another interpreter in the same process, with nothing imported: not every module survives that.
void live_again(int argc, char** argv) {
    static PyMethodDef method{"walk", walk_for_python, METH_NOARGS, nullptr};
    begin(argv[1], argc - 2, argv + 2, false);
    PyObject* names = PyModule_GetDict(PyImport_AddModule("__main__"));
    PyObject* function = PyCFunction_New(&method, nullptr);
    PyDict_SetItemString(names, "walk", function);
    Py_DECREF(function);
    constexpr const char* kProgram =
        "def inner():\n"
        "    return walk()\n"
        "def outer(): return inner()\n"
        "told = outer()\n"
        "assert told == '<string>:2 inner\\n<string>:3 outer\\n<string>:4 <module>\\n', told\n";
    expect(PyRun_SimpleString(kProgram) == 0, "the second interpreter is walked wrongly");
    expect(Py_FinalizeEx() == 0, "Python did not end again");
    expect_nothing("there are frames without a second interpreter");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) fail("embedded HOME SCRIPT LIBRARY STORY COUNT");
    expect(walker_begin() == nullptr, "the interpreter is not found before it begins");
    expect_nothing("there are frames before an interpreter");
    if (std::strcmp(argv[4], "host") != 0) {
        begin(argv[1], argc - 2, argv + 2, true);
        return Py_RunMain();
    }
    const long compared = live(argc, argv, std::atol(argv[5]));
    live_again(argc, argv);
    std::printf("done %ld\n", compared);
    return 0;
}
