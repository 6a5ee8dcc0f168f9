# SPDX-License-Identifier: BSD-3-Clause
# Target gradfuzz_torch: the libtorch of the Python environment in use (Python_EXECUTABLE).
#
# torch's own CMake package is not used: that of a CUDA wheel insists on a CUDA toolkit of its own
# version and on the CUDA language, and gradfuzz builds with and without one.
if(Python_EXECUTABLE)
  set(Python_FIND_VIRTUALENV STANDARD)
endif()
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Embed)
execute_process(
  COMMAND ${Python_EXECUTABLE} -c
          "import torch, os; print(os.path.dirname(torch.__file__)); print(torch.__version__); print(int(torch._C._GLIBCXX_USE_CXX11_ABI))"
  OUTPUT_VARIABLE torch_facts
  ERROR_VARIABLE torch_error
  OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE torch_status)
if(NOT torch_status EQUAL 0)
  message(FATAL_ERROR "${Python_EXECUTABLE} has no torch that can be imported: ${torch_error}")
endif()
string(REPLACE "\n" ";" torch_facts "${torch_facts}")
list(GET torch_facts 0 torch_dir)
list(GET torch_facts 1 GRADFUZZ_TORCH_VERSION)
list(GET torch_facts 2 torch_cxx11_abi)
message(STATUS "torch ${GRADFUZZ_TORCH_VERSION}, Python ${Python_VERSION}")

add_library(gradfuzz_torch INTERFACE)
# SYSTEM: torch's headers are not warning-clean.
target_include_directories(gradfuzz_torch SYSTEM
                           INTERFACE ${torch_dir}/include ${torch_dir}/include/torch/csrc/api/include)
target_compile_definitions(gradfuzz_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=${torch_cxx11_abi})
foreach(library IN ITEMS torch torch_cpu c10)
  find_library(torch_library_${library} ${library} PATHS ${torch_dir}/lib NO_DEFAULT_PATH REQUIRED)
  target_link_libraries(gradfuzz_torch INTERFACE ${torch_library_${library}})
endforeach()
find_library(torch_library_python torch_python PATHS ${torch_dir}/lib NO_DEFAULT_PATH REQUIRED)
# The wheel's CUDA libraries may want symbols of libraries newer than the system's; they are
# resolved by the wheel's own copies when the program is loaded.
target_link_options(gradfuzz_torch INTERFACE "LINKER:--allow-shlib-undefined" "LINKER:-rpath,${torch_dir}/lib")
