# What makes the builds of colock's own developers short. Programs that use colock get nothing of it.
#
# COLOCK_PRECOMPILE: colock_precompile(target HEADER), and colock_precompile(target FROM other) for
# what the other target has precompiled. It makes no difference to the code.
#
# COLOCK_SEPARATE_ASIO: Asio is compiled once, into the library, and not in each source. All that is
# linked together must agree on it, so such a library can't be installed.
#
# CMAKE_UNITY_BUILD, which presets set beside them, compiles eight or sixteen sources as one: that is
# four to six times less work than one by one. Names in unnamed namespaces of one folder must differ
# then; a source in which they don't is named with colock_compile_alone(source...).
option(COLOCK_PRECOMPILE "Precompile headers of Boost and of the standard library" OFF)
option(COLOCK_SEPARATE_ASIO "Compile Asio once; nothing of such a build can be installed" OFF)

if(COLOCK_PRECOMPILE)
    # One precompiled header serves libraries and programs if these flags are the same in both.
    set(CMAKE_CXX_EXTENSIONS OFF)
    add_compile_options(-fPIC)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # Without it ccache preprocesses what is precompiled, as text.
        add_compile_options(-fpch-preprocess)
        # A source takes less than a gigabyte: collecting garbage before that only takes time.
        add_compile_options("SHELL:--param ggc-min-heapsize=1048576")
    else()
        # By the clock two equal precompiled headers differ, and ccache finds nothing.
        add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
    endif()
endif()

if(COLOCK_SEPARATE_ASIO)
    # A program that finds its library when it starts needn't be linked again with each.
    set(CMAKE_LINK_DEPENDS_NO_SHARED ON)
endif()

function(colock_precompile target)
    if(NOT COLOCK_PRECOMPILE)
        return()
    endif()
    if(ARGV1 STREQUAL "FROM")
        target_precompile_headers(${target} REUSE_FROM ${ARGV2})
    else()
        target_precompile_headers(${target} PRIVATE "${ARGV1}")
    endif()
endfunction()

function(colock_compile_alone)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

if(COLOCK_SEPARATE_ASIO)
    add_library(colock-asio OBJECT cmake/asio.cpp)
    set_target_properties(colock-asio PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_features(colock-asio PUBLIC cxx_std_20)
    target_compile_definitions(colock-asio PUBLIC BOOST_ASIO_SEPARATE_COMPILATION)
    target_link_libraries(colock-asio PUBLIC Boost::headers Threads::Threads
        PRIVATE OpenSSL::SSL OpenSSL::Crypto)
    colock_sanitize(colock-asio)
endif()
