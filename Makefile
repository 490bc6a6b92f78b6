# The short way in. `make build`, `make test` and `make demo` do everything on a fresh Debian 12: install what is
# missing, configure, build, run. Everything else is a CMake preset (see CMakePresets.json).

# One more than there are cores: the page waits for the network.
JOBS ?= $(shell expr $$(nproc) + 1)

.PHONY: help build test demo web-demo downloads asan tsan cuda bench format tidy packages clean

help:
	@echo "make build    build the program, build/release/fovea"
	@echo "make test     build everything and run the tests"
	@echo "make demo     build, translate with a shipped model and look at its attention"
	@echo "make downloads  what people download, in build/downloads: Debian packages and a tarball, the same bytes each time"
	@echo "make web-demo the page without a server, build/web-demo (WEB_MODELS=models/en-zh); installs Emscripten"
	@echo "make asan     the tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make tsan     the tests under ThreadSanitizer"
	@echo "make cuda     compile the CUDA backend's kernels; needs nvcc, no card"
	@echo "make bench    build and run the benchmarks (minutes; BENCH=--quick for a look)"
	@echo "make format   rewrite the sources in the project's format"
	@echo "make tidy     clang-tidy over the sources"
	@echo "make clean    remove the build folder"

packages:
	@tools/install-packages $(PACKAGES)

test asan tsan: PACKAGES = --tests
test asan tsan: packages
	cmake --preset $(subst test,dev,$@)
	cmake --build --preset $(subst test,dev,$@) -j $(JOBS)
	ctest --preset $(subst test,dev,$@) -j $$(nproc)

cuda: packages
	cmake --preset cuda-check
	cmake --build --preset cuda-check -j $(JOBS) --target fovea_kernels

build: packages
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target fovea

demo: build
	@tools/demo

# Paths in the program and in the library are relative, so that the folder of the sources does not matter.
downloads: packages
	cmake --preset release -B build/downloads/build -DFOVEA_TESTS=OFF -DFOVEA_BENCH=OFF -DFOVEA_EXAMPLES=OFF \
	  -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(CURDIR)/build/downloads/build=build"
	cmake --build build/downloads/build -j $(JOBS)
	tools/downloads build/downloads/build build/downloads

# Debian's Emscripten looks for Node's packages where Debian has them, whichever Node runs it.
WEB_MODELS ?= models/en-zh
web-demo: PACKAGES = --web
web-demo: export NODE_PATH = /usr/share/nodejs
web-demo: packages
	cmake --preset web
	cmake --build --preset web -j $(JOBS) --target fovea_web
	tools/web_demo.py build/web/engine build/web-demo $(WEB_MODELS)

bench: packages
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	build/release/bench/gemm $(BENCH)
	build/release/bench/attention $(BENCH)
	build/release/bench/recurrent $(BENCH)
	build/release/bench/train $(BENCH)
	build/release/bench/decode $(BENCH)

SOURCES = $(shell git ls-files '*.h' '*.cpp' '*.cu')

format:
	clang-format -i $(SOURCES)

tidy: packages
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	run-clang-tidy -quiet -p build/dev -j $(JOBS) '^$(CURDIR)/(src|apps|examples|bench|tests)/'

clean:
	rm -rf build
