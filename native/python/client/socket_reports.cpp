// `AllocationClient` over the allocation server's socket, as long as that takes every message at once: plain C builtins that
// pack a message and send it, without a lock and without Python in between. Whatever is not that simple (no connection, a
// full socket, messages that wait, arguments that are no small numbers) is left to the Python call beside it.
//
// Only while nothing waits may a message be sent past those that wait: `arm` says so, and everything here happens under
// the interpreter lock, so no other thread can come in between. A forked child begins disarmed.
#include "python/client/socket_reports.hpp"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

#include "journal/clock.hpp"
#include "python/client/reports.hpp"
#include "server/message.hpp"

namespace ttmem {
namespace {

using server::Message144;
using server::MessageType;
using Values = PyObject* const*;

struct Route {
    int descriptor = -1;  // below 0: not armed
    dev_t device = 0;     // what the descriptor stood for: a program may have closed it, and have its number now
    ino_t inode = 0;
    int32_t pid = 0;
};

Route route;

void forget_route() { route.descriptor = -1; }

// Which argument goes where; places are counted from the device id, which is the first of every call.
struct SocketCall {
    const char* name;
    MessageType type;
    int count, least;    // arguments
    int size, id, kind;  // their places, 0 where there is none
    bool has_time;
};

constexpr SocketCall kSocketCalls[] = {
    {"report_allocation", MessageType::alloc, 4, 4, 1, 3, 2, true},
    {"report_deallocation", MessageType::free, 2, 2, 0, 1, 0, false},
    {"report_cb_allocation", MessageType::cb_alloc, 3, 3, 1, 2, 0, true},
    {"report_cb_deallocation", MessageType::cb_free, 3, 3, 1, 2, 0, false},
    {"report_kernel_load", MessageType::kernel_load, 4, 3, 1, 2, 3, true},
    {"report_kernel_unload", MessageType::kernel_unload, 3, 3, 1, 2, 0, false},
};

bool read_message(const SocketCall& call, Values values, Py_ssize_t count, Message144& message) {
    uint64_t words[4] = {};
    if (count < call.least || count > call.count) return false;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!read_small_word(values[i], words[i]) || static_cast<int64_t>(words[i]) < 0) return false;
    if (words[0] > INT32_MAX || (call.kind != 0 && words[call.kind] > UINT8_MAX)) return false;
    message.head.type = static_cast<uint8_t>(call.type);
    message.head.device_id = static_cast<int32_t>(words[0]);
    message.head.size = call.size != 0 ? words[call.size] : 0;
    message.head.buffer_type = call.kind != 0 ? static_cast<uint8_t>(words[call.kind]) : uint8_t{0};
    message.head.process_id = route.pid;
    message.head.buffer_id = words[call.id];
    message.head.timestamp = call.has_time ? nanoseconds(CLOCK_REALTIME) : 0;
    return true;
}

bool is_still_ours() {
    struct stat facts{};
    return fstat(route.descriptor, &facts) == 0 && facts.st_ino == route.inode && facts.st_dev == route.device;
}

// Messages are far smaller than a socket's buffer: one is taken whole, or not at all. AtomicU32 a message would spoil the
// stream, and the connection is given up.
bool send_at_once(const Message144& message) {
    const int before = errno;
    const ssize_t sent =
        is_still_ours() ? send(route.descriptor, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL) : -1;
    const bool is_sent = sent == ssize_t{sizeof message};
    if (sent > 0 && !is_sent) shutdown(route.descriptor, SHUT_RDWR);
    if (!is_sent) forget_route();
    errno = before;
    return is_sent;
}

// `self` is (place in kSocketCalls, the Python call that does the rest).
PyObject* report(PyObject* self, Values values, Py_ssize_t count, PyObject* names) {
    if (route.descriptor >= 0 && names == nullptr) {
        Message144 message{};
        const SocketCall& call = kSocketCalls[PyLong_AsLong(PyTuple_GET_ITEM(self, 0))];
        if (read_message(call, values, count, message) && send_at_once(message)) Py_RETURN_NONE;
    }
    return PyObject_Vectorcall(PyTuple_GET_ITEM(self, 1), values, static_cast<size_t>(count), names);
}

template <typename Function>
PyCFunction as_method(Function* function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef kReports[sizeof kSocketCalls / sizeof *kSocketCalls];  // filled when the first is asked for

// at_once(name, call): a builtin that does what `call` does, sooner.
PyObject* at_once(PyObject*, Values values, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected a name and a call");
    for (size_t i = 0; i < sizeof kSocketCalls / sizeof *kSocketCalls; ++i) {
        if (PyUnicode_CompareWithASCIIString(values[0], kSocketCalls[i].name) != 0) continue;
        PyObject* self = Py_BuildValue("(nO)", static_cast<Py_ssize_t>(i), values[1]);
        kReports[i] = {kSocketCalls[i].name, as_method(report), METH_FASTCALL | METH_KEYWORDS, nullptr};
        PyObject* made = self != nullptr ? PyCFunction_New(&kReports[i], self) : nullptr;
        Py_XDECREF(self);
        return made;
    }
    return PyErr_Format(PyExc_ValueError, "%R is no report", values[0]);
}

// arm(descriptor, backlog, messages in flight): from now on past both, if they are empty.
PyObject* arm(PyObject*, Values values, Py_ssize_t count) {
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected a descriptor and two lists");
    const long descriptor = PyLong_AsLong(values[0]);
    const Py_ssize_t waiting = PyObject_Size(values[1]), flying = PyObject_Size(values[2]);
    if (PyErr_Occurred() != nullptr) return nullptr;
    struct stat facts{};
    if (waiting != 0 || flying != 0 || descriptor < 0 || fstat(static_cast<int>(descriptor), &facts) != 0)
        Py_RETURN_FALSE;
    route = {static_cast<int>(descriptor), facts.st_dev, facts.st_ino, getpid()};
    Py_RETURN_TRUE;
}

PyObject* disarm(PyObject*, PyObject*) {
    forget_route();
    Py_RETURN_NONE;
}

PyMethodDef kSocketFunctions[] = {
    {"at_once", as_method(at_once), METH_FASTCALL, "at_once(name, call, /)"},
    {"arm", as_method(arm), METH_FASTCALL, "arm(descriptor, backlog, flight, /)"},
    {"disarm", disarm, METH_NOARGS, "disarm()"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_socket_reports(PyObject* module) {
    pthread_atfork(nullptr, nullptr, forget_route);
    return PyModule_AddFunctions(module, kSocketFunctions) == 0;
}

}  // namespace ttmem
