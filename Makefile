# The front door. `make help` lists what there is.
.DEFAULT_GOAL := help
SHELL := bash
JOBS ?= $(shell nproc)
NAME ?=
STAGE := tools/stage

# The real control plane, built once per machine outside the tree. Empty when Go or its modules cannot be had: what
# needs it is then reported as skipped.
CONTROLPLANE = $$(tests/cluster/controlplane/build || true)
# The same for real nodes: kubelet, containerd, ...
NODE = $$(tests/cluster/node/build || true)

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: ## install the packages that are missing
	@tools/setup

build: setup ## the binary, at build/berth
	@$(STAGE) configure cmake --preset release --log-level=WARNING
	@$(STAGE) build ninja -C build/release -j $(JOBS) berth
	@ln -sfn release/cmd/berth/berth build/berth

image: build ## the container image, at build/image/berth.tar (NAME=registry.example.com/berth:1.0 names it)
	@$(STAGE) image tools/image $(if $(NAME),--name $(NAME))

run: build ## start the playground
	@build/berth playground

demo: build ## rooms get addresses and keep them, unattended: exits 0 when every echo came back
	@build/berth demo

cluster: ## a real control plane and two real nodes to play with, until Ctrl-C; needs root
	@tests/cluster/node/up

test: setup ## build and run all tests
	@$(STAGE) controlplane tests/cluster/controlplane/build >/dev/null || true
	@$(STAGE) node tests/cluster/node/build >/dev/null || true
	@$(STAGE) configure cmake --preset dev --log-level=WARNING -DBERTH_CONTROLPLANE_DIR=$(CONTROLPLANE) -DBERTH_NODE_DIR=$(NODE)
	@$(STAGE) build-dev ninja -C build/dev -j $(JOBS)
	@$(STAGE) test-dev tools/suites build/dev -j $(JOBS)

test-planted: setup ## planted defects, which the simulation must find one by one
	@$(STAGE) configure cmake --preset dev --log-level=WARNING
	@$(STAGE) build-planted ninja -C build/dev -j $(JOBS) planted_test planted_hands_test
	@$(STAGE) test-planted build/dev/tests/scenarios/planted_test
	@$(STAGE) test-planted-hands build/dev/tests/scenarios/planted_hands_test

test-faults: setup ## port pools and Ingresses with every write crashed, and in random trouble (BERTH_SCENARIO_SECONDS=600 for longer)
	@$(STAGE) configure cmake --preset dev --log-level=WARNING
	@$(STAGE) build-faults ninja -C build/dev -j $(JOBS) port_pool_crash_test port_pool_trouble_test clb_crash_test ingress_clb_test
	@$(STAGE) test-faults ctest --test-dir build/dev -V -j $(JOBS) -R '(port_pool_(crash|trouble)|clb_crash|ingress_clb)_test'

SOAK ?= 600
soak: setup ## random lives, with faults and with people, for long (SOAK=3600 seconds of processor time each), every crash on both sides, and large models
	@$(STAGE) configure cmake --preset dev --log-level=WARNING
	@$(STAGE) build-soak ninja -C build/dev -j $(JOBS) hands_test house_model_test port_pool_trouble_test port_pool_crash_test scenarios_test clb_crash_test ingress_clb_test
	@BERTH_SCENARIO_SECONDS=$(SOAK) BERTH_SCENARIO_SIDES=both BERTH_SCENARIO_HOUSES=large $(STAGE) soak ctest --test-dir build/dev -V -j $(JOBS) --timeout 86400 \
	  -R '^(hands|house_model|port_pool_trouble|port_pool_crash|scenarios|clb_crash|ingress_clb)_test$$'

sanitize: setup ## tests under ASan+UBSan (clang-19), fuzz corpora, and TSan where there are threads
	@$(STAGE) configure-asan cmake --preset asan --log-level=WARNING
	@$(STAGE) build-asan ninja -C build/asan -j $(JOBS) tests_unit tests_component
	@BERTH_SCENARIO_SECONDS=2 $(STAGE) test-asan tools/suites build/asan -j $(JOBS) -L 'unit|component'
	@$(STAGE) configure-tsan cmake --preset tsan --log-level=WARNING
	@$(STAGE) build-tsan ninja -C build/tsan -j $(JOBS) tests_threads
	@$(STAGE) test-tsan tools/suites build/tsan -j $(JOBS) -L threads

bench: ## measure, print the table and write build/bench.json (NAME=x runs one)
	@tools/setup bench
	@$(STAGE) configure cmake --preset release --log-level=WARNING
	@$(STAGE) build ninja -C build/release -j $(JOBS)
	@tests/bench/run $(NAME)

lint: setup ## formatting, layers, naming rules, clang-tidy on what changed
	@$(STAGE) lint tools/lint
	@$(STAGE) tidy tools/tidy

clean: ## remove build results
	@rm -rf build

.PHONY: help setup build image run demo cluster test test-planted test-faults soak sanitize bench lint clean
