# `make help` lists what there is. Everything runs in .venv, which the first target that needs it makes.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Measured on two cores: 2 at once take 99 s, 3 take 108, 5 take 122.
TESTS_AT_ONCE ?= 2
export PYTHONPATH := src:.
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test check format lock build deploy help
.DEFAULT_GOAL := help

run: $(VENV)/ready ## start everything on this machine and print one address (PORT=8000)
	@$(BIN)/python -m infra.local

test: $(VENV)/ready ## run every test
	@$(BIN)/python -m pytest --numprocesses $(TESTS_AT_ONCE) --dist loadfile

check: $(VENV)/ready ## ruff, format, pyright
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright

format: $(VENV)/ready ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lock: ## resolve the dependencies anew and pin them with their hashes
	@$(LOCK) pyproject.toml -o requirements/layer.txt
	@$(LOCK) pyproject.toml --group dev -c requirements/layer.txt -o requirements/dev.txt
	@$(LOCK) requirements/build.in -o requirements/build.txt

build: .venv-sam/ready ## sam build: the layer and the functions, for Lambda's own architecture
	@$(SAM) validate --lint
	@$(if $(LAMBDA_PYTHON),PATH="$(LAMBDA_PYTHON)/bin:$$PATH") $(SAM) build

deploy: build ## sam deploy (STAGE=dev)
	@$(SAM) deploy --config-env $(or $(STAGE),dev)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

LOCK = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate
# A real python3.13 must be on PATH for the build; a shim of pyenv is refused.
LAMBDA_PYTHON = $(shell pyenv prefix 3.13 2>/dev/null)
SAM := SAM_CLI_TELEMETRY=0 .venv-sam/bin/sam

# Of its own: the SAM CLI pins an older boto3. Its list is complete, and pip's resolver refuses one of its extras.
.venv-sam/ready: requirements/build.txt
	@$(PYTHON) -m venv .venv-sam
	@echo "Installing the SAM CLI into .venv-sam, once…"
	@.venv-sam/bin/python -m pip install --quiet --no-deps --require-hashes -r requirements/build.txt
	@touch $@

$(VENV)/ready: requirements/dev.txt
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed: Python 3.11 or later is needed."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later is needed; %s is %d.%d. Try: make PYTHON=python3.13 …" % (sys.executable, *sys.version_info[:2]))'
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make environments; on Debian: apt-get install python3-venv"; exit 1; }
	@echo "Installing into $(VENV), once…"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	@touch $@
