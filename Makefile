# Each target sets up what it needs; nothing has to be installed by hand but git, make and python3 (3.11+).
PYTHON ?= python3
BIN := .venv/bin
# Demo and tests start many processes; where PYTHONDONTWRITEBYTECODE is set, each would compile all that it imports.
COMPILE := $(BIN)/python -m compileall -q src

.PHONY: help demo test thorough lint golden docs site notebook package peers setup browser bench fuzz clean
help: ## This list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[analysis]' --group dev
	@$(COMPILE)
	@touch $@

.venv/demo: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[analysis,view]'
	@$(COMPILE)
	@touch $@

demo: .venv/demo ## Read the bundled recordings, evaluate and gate them, convert them, and say what each conversion lost
	@$(BIN)/python demo/demo.py

lint: .venv/ready ## Style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Both together are all tests but those of `peers` and `browser`.
TESTS := $(BIN)/python -m pytest -n 2 --dist worksteal tests $(addprefix --ignore=tests/,peers browser viewer/pages)

test: lint ## Everything quick: lint, types, layers, tests
	$(TESTS) -m "not thorough"

thorough: .venv/ready ## The slow tests: kills, damaged files, full disks, hostile inputs, terminals, every format written as every other
	$(TESTS) -m thorough

golden: .venv/ready ## Write the expected readings of the golden files anew; read the diff
	PANTRACE_ACCEPT=1 $(BIN)/python -m pytest tests/formats/test_every_format.py -k golden_reads

docs: .venv/ready ## Write the generated parts of README and docs anew, and the outputs in the tutorials
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/make_matrix.py
	$(BIN)/python docs/outputs.py

.venvs/docs/ready: pyproject.toml
	$(PYTHON) -m venv .venvs/docs
	.venvs/docs/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	.venvs/docs/bin/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

site: .venvs/docs/ready ## The docs as a site with search, in build/site; a dead link is an error
	NO_MKDOCS_2_WARNING=1 .venvs/docs/bin/mkdocs build --strict
	@echo "open build/site/index.html"

notebook: .venvs/notebook/ready ## Execute the notebook of the docs and keep its outputs
	.venvs/notebook/bin/python docs/run_notebook.py

package: .venv/ready ## Build wheel and sdist, install the wheel in clean environments, run every command from it
	$(BIN)/python .ci/package.py

PEERS := $(patsubst tests/peers/%/requirements.txt,%,$(wildcard tests/peers/*/requirements.txt))
peers: $(PEERS:%=peer-%) ## The real tools read what we write, each in an environment of its own

.PRECIOUS: .venvs/%/ready
.venvs/%/ready: tests/peers/%/requirements.txt $(wildcard tests/peers/*/package.json) pyproject.toml
	$(PYTHON) -m venv .venvs/$*
	.venvs/$*/bin/python -m pip install --quiet --disable-pip-version-check --editable . pytest -r tests/peers/$*/requirements.txt
	@for file in $(wildcard tests/peers/$*/without-dependencies.txt); do \
	  .venvs/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --ignore-requires-python -r $$file; done
	@for file in $(wildcard tests/peers/$*/package.json); do \
	  cp $$file .venvs/$*/ && npm install --silent --no-fund --no-audit --prefix .venvs/$*; done
	@touch $@

peer-%: .venvs/%/ready
	.venvs/$*/bin/python -m pytest -W default tests/peers/$*

BENCH_PEERS := adk inspect vertex agents scout harbor ray browser
bench: .venv/ready $(BENCH_PEERS:%=.venvs/%/ready) ## Every benchmark three times, beside its peers: ratios and what is wanted; all of it in build/bench.json
	@test -x /usr/bin/chromium || echo "bench/viewer.py needs a browser: make browser"
	$(BIN)/python bench/all.py

INPUTS ?= 100000
KILLS ?= 200
SEED ?= 1
fuzz: .venv/ready ## Damage every golden file in many ways and try every command; kill commands and begin them again (INPUTS, KILLS, SEED)
	$(BIN)/python tests/fuzz/seeded.py $(INPUTS) $(SEED)
	$(BIN)/python tests/fuzz/kills.py $(KILLS) $(SEED)

.venvs/browser/ready: tests/browser/requirements.txt pyproject.toml
	$(PYTHON) -m venv .venvs/browser
	.venvs/browser/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[analysis,view]' pytest -r tests/browser/requirements.txt
	@touch $@

setup: .venv/ready .venvs/docs/ready .venvs/browser/ready $(PEERS:%=.venvs/%/ready) ## Every environment that the other targets set up; --jobs=2 sets up two at a time

browser: .venvs/browser/ready ## Our pages in a real Chromium and Firefox, our logs in `inspect view` (Debian's browsers, installed when missing)
	@test -x /usr/bin/chromium -a -x /usr/bin/firefox-esr || { apt-get update -qq && apt-get install -y -qq chromium firefox-esr; }
	.venvs/browser/bin/python -m pytest -W default tests/browser
	.venvs/browser/bin/python -m pytest -W default tests/viewer/pages

clean: ## Remove environments and outputs
	rm -rf .venv .venvs demo-out
