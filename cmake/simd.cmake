# Kernels: files of src/ that are compiled once for each instruction set, with BL_LEVEL as its name (src/num/simd.h). This is
# the only place that sets instruction sets and the contraction of a*b + c to fused multiply-adds, which is off elsewhere.
# All levels give the same bits:
set(BLICA_KERNELS src/num/normal/bvn_kernel.c src/num/normal/corners_kernel.c src/num/rectangles/ep_kernel.c src/num/normal/polychoric_kernel.c src/num/normal/tetra_kernel.c
  src/estimate/gauss/kernel_lanes.c src/rivals/rivals_kernel.c)
# Multiply-adds may fuse; levels agree to rounding (tests/unit/likelihood/test_likelihood.c, tests/unit/num/test_accuracy.c):
set(BLICA_KERNELS_FUSED src/num/rectangles/grid_kernel.c src/num/rectangles/sov_kernel.c)
set_property(SOURCE ${BLICA_KERNELS_FUSED} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=fast)

set(BLICA_LEVELS generic)
if(BLICA_SIMD)
  include(CheckCSourceCompiles)
  check_c_source_compiles("#ifndef __x86_64__\n#error\n#endif\nint main(void) { return 0; }" BLICA_IS_X86)
  if(BLICA_IS_X86 AND NOT WIN32) # gcc does not align what it keeps of a vector on the stack of Windows (its bug 54412)
    list(APPEND BLICA_LEVELS avx2 avx512)
    target_compile_definitions(blica_flags INTERFACE BLICA_AVX)
    if(BLICA_SIMD STREQUAL AVX2)
      set_property(SOURCE src/base/machine.c APPEND PROPERTY COMPILE_DEFINITIONS BLICA_SIMD_MOST=BLICA_SIMD_AVX2)
    endif()
  endif()
endif()
set(BLICA_FLAGS_avx2 -mavx2 -mfma)
set(BLICA_FLAGS_avx512 -mavx2 -mfma -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512)

# blica_level_library(LEVEL): the object library blica_LEVEL, added to BLICA_OBJECTS.
function(blica_level_library level)
  add_library(blica_${level} OBJECT ${BLICA_KERNELS} ${BLICA_KERNELS_FUSED})
  set_target_properties(blica_${level} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(blica_${level} PRIVATE BL_LEVEL=${level})
  target_compile_options(blica_${level} PRIVATE ${BLICA_FLAGS_${level}} $<$<C_COMPILER_ID:Clang>:-Wno-ignored-attributes>)
  target_include_directories(blica_${level} PRIVATE src)
  target_link_libraries(blica_${level} PRIVATE blica_flags)
endfunction()
set(BLICA_OBJECTS $<TARGET_OBJECTS:blica_objects> $<TARGET_OBJECTS:blica_common>)
foreach(level ${BLICA_LEVELS})
  blica_level_library(${level})
  list(APPEND BLICA_OBJECTS $<TARGET_OBJECTS:blica_${level}>)
endforeach()
