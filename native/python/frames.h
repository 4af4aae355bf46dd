/* The Python frames of the calling thread, read where the interpreter keeps them.
 *
 * The stock runtime gives the interpreter lock away before it allocates, so the ways that Python offers, which need the
 * lock, would never show a line of a model. While a thread is in a call out of Python nobody changes its frames, and they
 * keep their code objects alive; so the thread itself may read them, lock or not. Nothing here takes a reference, makes an
 * object or runs Python code. Where frames lie is known of Python 3.10 to 3.13; of later ones there are none. */
#ifndef TTMEM_PYTHON_FRAMES_H
#define TTMEM_PYTHON_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttmem_frame {
    const void* code;  /* valid as long as the thread has not returned to Python */
    uint64_t identity; /* of the code object; another one at the same address has another */
    int instruction;   /* its offset in bytes */
} ttmem_frame;

/* The innermost frames first, at most so many; how many there are. 0 on a thread that Python does not know. */
int ttmem_python_frames(ttmem_frame* frames, int most);

/* Writes "file:line function"; its length, or 0 if there is not enough room. */
size_t ttmem_frame_text(const ttmem_frame* frame, char* text, size_t room);

#ifdef __cplusplus
}
#endif

#endif
