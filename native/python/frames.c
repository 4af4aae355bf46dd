/* See frames.h. The interpreter's own headers tell where frames lie, version by version. */
#define Py_BUILD_CORE 1
#include "python/frames.h"

#include <Python.h>
#include <frameobject.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030e0000
#include <internal/pycore_frame.h>
#endif

static int is_going_down(void) {
#if PY_VERSION_HEX >= 0x030d0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

static uint64_t mixed(uint64_t hash, const void* word) {
    return (hash ^ (uint64_t)(uintptr_t)word) * 0x9e3779b97f4a7c15ull;
}

/* Until 3.11 a code object has no number of its own. Then what it is called tells it from another at its address; texts
 * keep their hash once somebody asked for it, as compilers do. */
static uint64_t identity_of(const PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030c0000
    return mixed(code->co_version, code);
#else
    const uint64_t file = (uint64_t)((const PyASCIIObject*)code->co_filename)->hash;
    const uint64_t name = (uint64_t)((const PyASCIIObject*)code->co_name)->hash;
    const uint64_t words = mixed(file * 31 + name, code->co_linetable);
    return mixed(words + (uint64_t)code->co_firstlineno, code);
#endif
}

static ttmem_frame frame_of(const PyCodeObject* code, int unit) {
    const ttmem_frame frame = {code, identity_of(code), unit * (int)sizeof(_Py_CODEUNIT)};
    return frame;
}

#if PY_VERSION_HEX < 0x030b0000

static int walk(const PyThreadState* state, ttmem_frame* frames, int most) {
    int count = 0;
    for (const PyFrameObject* frame = state->frame; frame != NULL && count < most; frame = frame->f_back)
        frames[count++] = frame_of(frame->f_code, frame->f_lasti);
    return count;
}

#elif PY_VERSION_HEX < 0x030e0000

static int walk(const PyThreadState* state, ttmem_frame* frames, int most) {
    int count = 0;
#if PY_VERSION_HEX >= 0x030d0000
    _PyInterpreterFrame* frame = state->current_frame;
#else
    _PyInterpreterFrame* frame = state->cframe != NULL ? state->cframe->current_frame : NULL;
#endif
    for (; frame != NULL && count < most; frame = frame->previous) {
        if (_PyFrame_IsIncomplete(frame)) continue; /* not begun, or no function's at all */
#if PY_VERSION_HEX >= 0x030d0000
        const PyCodeObject* code = _PyFrame_GetCode(frame);
#else
        const PyCodeObject* code = frame->f_code;
#endif
        frames[count++] = frame_of(code, _PyInterpreterFrame_LASTI(frame));
    }
    return count;
}

#else

static int walk(const PyThreadState* state, ttmem_frame* frames, int most) {
    (void)state, (void)frames, (void)most;
    return 0;
}

#endif

int ttmem_python_frames(ttmem_frame* frames, int most) {
    if (!Py_IsInitialized() || is_going_down()) return 0;
    const PyThreadState* state = PyGILState_GetThisThreadState();
    return state != NULL ? walk(state, frames, most) : 0;
}

/* Python's own conversion keeps what it made, which only holders of its lock may do. Returns where it ended, or NULL. */
static char* put_text(char* at, const char* end, PyObject* text) {
    if (text == NULL || !PyUnicode_Check(text)) return at;
    const int kind = (int)PyUnicode_KIND(text);
    const void* data = PyUnicode_DATA(text);
    const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    for (Py_ssize_t i = 0; i < length; ++i) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if (end - at < 5) return NULL;
        if (c < 0x20 || c == 0x7f || (c >= 0xd800 && c < 0xe000)) c = '?'; /* a new line ends a frame */
        if (c < 0x80) {
            *at++ = (char)c;
            continue;
        }
        const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        *at++ = (char)((0xff << (7 - more) & 0xff) | c >> 6 * more);
        for (int j = more - 1; j >= 0; --j) *at++ = (char)(0x80 | (c >> 6 * j & 0x3f));
    }
    return at;
}

size_t ttmem_frame_text(const ttmem_frame* frame, char* text, size_t room) {
    PyCodeObject* code = (PyCodeObject*)frame->code;
    const char* end = text + room;
#if PY_VERSION_HEX >= 0x030b0000
    PyObject* function = code->co_qualname;
#else
    PyObject* function = code->co_name;
#endif
    char* at = put_text(text, end, code->co_filename);
    if (at == NULL) return 0;
    const int written = snprintf(at, (size_t)(end - at), ":%d ", PyCode_Addr2Line(code, frame->instruction));
    if (written < 0 || written >= end - at) return 0;
    at = put_text(at + written, end, function);
    return at != NULL ? (size_t)(at - text) : 0;
}
