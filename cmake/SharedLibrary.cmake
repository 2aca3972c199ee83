# colock is static, or with BUILD_SHARED_LIBS shared. A static one brings colock_shared, made of the
# same objects when somebody asks for it: packages have both.

# The list is one for ELF. Elsewhere the library shows all of its names.
function(colock_export_own_symbols target)
    if(APPLE)
        return()
    endif()
    set(map "${PROJECT_SOURCE_DIR}/cmake/colock.map")
    target_link_options(${target} PRIVATE "LINKER:--version-script=${map}" "LINKER:--no-undefined")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
endfunction()

get_target_property(colock_type colock TYPE)
if(COLOCK_SEPARATE_ASIO)
    # For tests, which look inside: all names are to be seen, and no second library is made.
elseif(WIN32)
    # Static alone: nothing here says which names a DLL exports.
elseif(colock_type STREQUAL "SHARED_LIBRARY")
    colock_export_own_symbols(colock)
else()
    add_library(colock_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:colock>)
    set_target_properties(colock_shared PROPERTIES
        OUTPUT_NAME colock
        EXPORT_NAME colock
        LINKER_LANGUAGE CXX
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    target_compile_features(colock_shared INTERFACE cxx_std_20)
    target_compile_options(colock_shared INTERFACE ${colock_stop_token_flag})
    target_include_directories(colock_shared
        INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(colock_shared
        PUBLIC Boost::headers Threads::Threads
        PRIVATE OpenSSL::SSL OpenSSL::Crypto)
    colock_export_own_symbols(colock_shared)
    set(both ${PROJECT_IS_TOP_LEVEL})
    if(COLOCK_SANITIZE)
        set(both OFF)
    endif()
    option(COLOCK_BOTH_LIBRARIES "Build and install the shared library beside the static one" ${both})
    if(COLOCK_BOTH_LIBRARIES)
        set_target_properties(colock_shared PROPERTIES EXCLUDE_FROM_ALL OFF)
    endif()
endif()
