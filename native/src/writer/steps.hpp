// The points inside an operation where another thread, or the reader, may come in between.
//
// They cost nothing and do nothing. The native tests compile the writer with a meaning of their own for the macro, to
// park a thread at one of these points or to yield there at random.
#pragma once

#ifndef TTMEM_TEST_YIELD
#define TTMEM_TEST_YIELD(step) ((void)0)
#endif
