# The notebooks need Jupyter's nbconvert, which Go does not bring:
#
#	apt-get install -y jupyter-nbconvert    (or: pip install nbconvert)
#
# gonb, the Go kernel, and goimports are built from notebooks/go.mod.

KERNEL  := $(CURDIR)/notebooks/.kernel
EXECUTE := jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.timeout=900 --ExecutePreprocessor.record_timing=False --log-level=ERROR
export JUPYTER_DATA_DIR := $(KERNEL)
export PATH := $(KERNEL)/bin:$(PATH)

RELEASE := $(CURDIR)/runs/release

.PHONY: campaign notebooks notebooks-update lab kernel jupyter release wheels

# campaign attacks the command for an hour and writes its figures; MINUTES=600 for a night,
# SEED=7 for other attacks.
MINUTES ?= 60
SEED ?= 1
campaign:
	go run ./experiments/campaign -minutes $(MINUTES) -seed $(SEED) -table

# notebooks executes all of them in a clean copy of the tree and fails on an error cell.
# notebooks-update keeps their outputs, to be committed.
notebooks notebooks-update: jupyter kernel
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && \
	git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -c | tar -x -C "$$copy" && \
	cd "$$copy/notebooks" && for n in *.ipynb; do \
		start=$$(date +%s); $(EXECUTE) "$$n" >nbconvert.log 2>&1 || { tail -30 nbconvert.log; exit 1; }; \
		go run ./check "$$n" || exit 1; \
		echo "$$n: $$(( $$(date +%s) - start )) s"; \
	done; \
	if [ $@ = notebooks-update ]; then cp *.ipynb $(CURDIR)/notebooks/; fi

# lab opens them in JupyterLab, which must be there: pip install jupyterlab.
lab: kernel
	jupyter lab notebooks

# kernel builds gonb and goimports and tells Jupyter of them, all below notebooks/.kernel.
kernel:
	@mkdir -p $(KERNEL)/bin && go -C notebooks build -o $(KERNEL)/bin tool
	@$(KERNEL)/bin/gonb --install --force_deps 2>/dev/null

jupyter:
	@command -v jupyter-nbconvert >/dev/null || { \
		echo "make: the notebooks need Jupyter's nbconvert; install it with: apt-get install -y jupyter-nbconvert (or pip install nbconvert)" >&2; exit 1; }

# release builds binaries for six platforms into runs/release without cgo, with a list of what
# they are made of, its licences, its known vulnerabilities (of a binary with symbols, by which
# govulncheck sees what is linked) and checksums. calibra --version tells the commit they were
# built from. Those for linux need the loader of the C library (glibc), by which they open CUDA,
# ONNX Runtime and OpenBLAS where these are.
release:
	@rm -rf "$(RELEASE)" && mkdir -p "$(RELEASE)"
	@for p in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
		os=$${p%/*}; arch=$${p#*/}; name=calibra-$$os-$$arch; [ $$os != windows ] || name=$$name.exe; \
		echo "$$name"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -buildvcs=true -ldflags "-s -w" -o "$(RELEASE)/$$name" ./experiments/cmd/calibra || exit 1; \
	done
	@found=$$(mktemp -d) && trap 'rm -rf "$$found"' EXIT && go build -o "$$found/calibra" ./experiments/cmd/calibra && \
	if go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 -format json -mode=binary "$$found/calibra" >"$$found/json" 2>"$$found/why"; then \
		go run ./experiments/release -sbom "$(RELEASE)/sbom.json" -vulnerabilities "$$found/json"; \
	else \
		echo "known vulnerabilities cannot be looked up here; sbom.json says so: $$(head -1 "$$found/why")"; \
		go run ./experiments/release -sbom "$(RELEASE)/sbom.json"; \
	fi
	@cp LICENSE experiments/release/LICENSES.md "$(RELEASE)/" && cd "$(RELEASE)" && sha256sum * >SHA256SUMS && ls -l

# wheels packs each of these binaries for pip into dist. Its version is the binary's. It needs
# Python with pip, which fetches hatchling: make wheels PYTHON=venv/bin/python.
PYTHON ?= python3
wheels: release
	@rm -rf dist && for binary in "$(RELEASE)"/calibra-*; do \
		CALIBRA_BINARY="$$binary" "$(PYTHON)" -m pip wheel -q --no-deps -w dist ./experiments/python || exit 1; \
	done && ls -l dist
