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
PYTHON ?= python3

.PHONY: check-all laws gosec notebooks notebooks-update lab kernel jupyter release wheel wheels site site-links

# check-all is what a release must pass; .ci/run is what every change must.
check-all:
	.ci/all

# laws holds every method to every law on all six problems, and says how long each method took; go test asks each on two.
laws:
	CALIBRA_CHECK=all go test -count 1 -v -run TestLaws ./experiments/laws -timed | grep -v '^ *--- PASS'

# gosec looks for what is unsafe, but for these rules, each of which is held otherwise or is no
# fault here:
#	G103 unsafe: memory is shared with CUDA and the kernels; op.Values
#	     compares types before, and a test holds it to that
#	G104 errors not looked at: of closing what was read or has failed already; a writer's are
#	     returned, and the faults injected at every write hold that
#	G115 conversions of integers: sizes in files are held to the file's size before, and each
#	     integer type of a file is read to its end by the tests of the readers
#	G203 HTML that is not escaped: figures, the map, script and style are made here; a fuzz test
#	     puts hostile names into all that is printed
#	G204 commands with variables: tests and tools run what they have built
#	G301, G302, G306 permissions: the user's umask decides who may read results
#	G304 files by variable names: users name them; all are opened by one door, which a test holds
#	G404 weak random numbers: a seed repeats a result; nothing here is a secret
GOSEC := G103,G104,G115,G203,G204,G301,G302,G304,G306,G404
gosec:
	go run github.com/securego/gosec/v2/cmd/gosec@v2.22.0 -quiet -exclude=$(GOSEC) ./...

# notebooks executes all those in Go in a clean copy of the tree and fails on an error cell.
# notebooks-update keeps their outputs, to be committed. 06 is in Python and needs localcal, scikit-learn
# and torch there: jupyter nbconvert --to notebook --execute --inplace notebooks/06-from-python.ipynb
notebooks notebooks-update: jupyter kernel
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && \
	git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -c | tar -x -C "$$copy" && \
	cd "$$copy/notebooks" && for n in $$(grep -l '"gonb"' *.ipynb); do \
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

# release builds binaries for six platforms into runs/release without cgo, with the licences of
# what they link and checksums. calibra --version tells the commit they were built from. Those for
# linux need the loader of the C library (glibc), by which they open CUDA where it is. Arrow reads JSON, of which there is none here, by
# the standard library with its tag arrow_json_stdlib: the binaries are 1.4 MB smaller; without the module's sources (sourceless) they are 5 MB smaller still.
release:
	@rm -rf "$(RELEASE)" && mkdir -p "$(RELEASE)"
	@for p in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
		os=$${p%/*}; arch=$${p#*/}; name=calibra-$$os-$$arch; [ $$os != windows ] || name=$$name.exe; \
		echo "$$name"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -buildvcs=true -tags arrow_json_stdlib,sourceless -ldflags "-s -w" -o "$(RELEASE)/$$name" ./experiments/cmd/calibra || exit 1; \
	done
	@"$(PYTHON)" experiments/python/notices.py "$(RELEASE)"/calibra-* >"$(RELEASE)/NOTICES"
	@cp LICENSE "$(RELEASE)/" && cd "$(RELEASE)" && sha256sum * >SHA256SUMS && ls -l

# wheel packs the binary of this machine for pip into dist, wheels that of each platform. Their version is
# the binary's. It needs Python with pip, which fetches hatchling: make wheel PYTHON=venv/bin/python.
wheel:
	@rm -rf dist && "$(PYTHON)" -m pip wheel -q --no-deps -w dist ./experiments/python && ls -l dist

wheels: release
	@rm -rf dist && for binary in "$(RELEASE)"/calibra-*; do \
		CALIBRA_BINARY="$$binary" "$(PYTHON)" -m pip wheel -q --no-deps -w dist ./experiments/python || exit 1; \
	done && ls -l dist

# site builds the pages of the Python package into experiments/python/docs/_build/html, with its examples run. PYTHON has the wheel and
# its extra docs, and torch, transformers and xgboost for the examples of these. site-links asks the web for the links to other sites.
DOCS := experiments/python/docs
site:
	"$(PYTHON)" -m sphinx -W --keep-going -q -b html $(DOCS) $(DOCS)/_build/html
	"$(PYTHON)" $(DOCS)/links.py $(DOCS)/_build/html

site-links:
	"$(PYTHON)" -m sphinx -q -b linkcheck -D plot_gallery=0 $(DOCS) $(DOCS)/_build/links
