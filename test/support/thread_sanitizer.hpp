// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

// Some tests can't run under the thread sanitizer: it brings an operator new of its own and allows
// no other, and it ends a child of a busy process that starts threads.
#if defined(__SANITIZE_THREAD__)
#    define COLOCK_THREAD_SANITIZER
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define COLOCK_THREAD_SANITIZER
#    endif
#endif
