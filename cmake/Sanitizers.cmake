# colock_sanitize(target): builds the target, and whatever links it, with COLOCK_SANITIZE.
function(colock_sanitize target)
    if(NOT COLOCK_SANITIZE)
        return()
    endif()
    set(flags -fsanitize=${COLOCK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(${target} PUBLIC ${flags})
    target_link_options(${target} PUBLIC ${flags})
    if(COLOCK_SANITIZE MATCHES "address")
        # Asio keeps freed memory for the next operation, where a use after free goes unseen.
        # All units must agree on these, so they are public.
        target_compile_definitions(${target} PUBLIC
            BOOST_ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING
            BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING)
    endif()
endfunction()
