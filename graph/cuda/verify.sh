#!/usr/bin/env bash
# Builds, checks and times all that runs on a CUDA device, in one call of under 8 minutes:
#
#   graph/cuda/verify.sh             on a machine with a card and Go; or, where Go is not,
#   graph/cuda/verify.sh prebuild    before, where Go is: leaves all that is needed beside the
#                                    tracked files in graph/cuda/verify/carry/, under 50 MiB:
#                                    test programs (linked to libc alone) and, if ../shared has
#                                    it, data/cifar10-resnet.npz
#   graph/cuda/verify.sh card        without what needs no card, where time on the card is short
#
# What needs no card runs first. Without a card it then says so and exits with 3. Logs go to
# $OUT, or else to graph/cuda/verify/, all of them in logs.tgz too; the end of each log of a step
# that failed is printed last. With CALIBRA_SHARED, or carry/shared, the folder that
# holds data/cifar10-resnet.npz, a whole fit is compared too; with torch for Python, its times
# are printed beside ours. Where Go is carried programs are not looked at.
set -uo pipefail
cd "$(dirname "$0")/../.."
bin=$PWD/graph/cuda/verify
out=${OUT:-$bin}
mkdir -p "$bin/carry" "$out"
packages="optim layers layers/encoders layers/baselines graph/cuda experiments/metrics experiments/bench"

binary() { echo "$bin/$(echo "$1" | tr / -).test"; }

# build PACKAGE… builds the test program of each.
build() {
  local package
  for package in "$@"; do
    CGO_ENABLED=0 go test -c -ldflags='-s -w' -o "$(binary "$package")" "./$package" || exit 1
  done
}

if [ "${1:-}" = prebuild ]; then
  build $packages
  (cd "$bin" && tar -c $(for package in $packages; do basename "$(binary "$package")"; done)) | xz --lzma2=preset=9,dict=192MiB >"$bin/carry/carry.txz" || exit 1
  if [ -f ../shared/data/cifar10-resnet.npz ]; then
    mkdir -p "$bin/carry/shared/data"
    cp ../shared/data/cifar10-resnet.npz "$bin/carry/shared/data/" || exit 1
  fi
  size=$(du -sm "$bin/carry" | cut -f1)
  echo "graph/cuda/verify/carry: $size MiB"
  [ "$size" -lt 50 ]
  exit
elif command -v go >/dev/null; then
  build $packages
elif [ -f "$bin/carry/carry.txz" ]; then
  tar -C "$bin" -xJf "$bin/carry/carry.txz" || exit 2
else
  echo "verify.sh: there is no Go here; run graph/cuda/verify.sh prebuild elsewhere and carry graph/cuda/verify/carry along" >&2
  exit 2
fi
if [ -z "${CALIBRA_SHARED:-}" ] && [ -d "$bin/carry/shared" ]; then
  export CALIBRA_SHARED=$bin/carry/shared
fi

# within SECONDS COMMAND… stops a command after so long, and all of them after 470 s.
within() {
  local seconds=$(( $1 < 470 - SECONDS ? $1 : 470 - SECONDS ))
  shift
  [ "$seconds" -gt 0 ] && timeout "$seconds" "$@"
}

failures=()
log() { echo "$out/$(echo "$1" | tr ' ' -).log"; }
failed() { # NAME
  echo "FAILED: $1"
  failures+=("$1")
}

# report packs all logs into one file and prints the end of each that belongs to a failed step.
report() {
  local name
  (cd "$out" && tar -czf logs.tgz --ignore-failed-read -- *.log)
  for name in "${failures[@]}"; do
    printf '\n== FAILED: %s: the end of its log\n' "$name"
    tail -n 15 "$(log "$name")"
  done
  [ ${#failures[@]} -eq 0 ] || (IFS=,; printf '\nverify.sh: %d steps failed: %s; logs in %s\n' ${#failures[@]} "${failures[*]}" "$out")
}

# step NAME SECONDS PACKAGE ARGUMENTS… runs a package's tests where the package lies, if it
# was built.
step() {
  local name=$1 seconds=$2 package=$3
  shift 3
  [[ " $packages " == *" $package "* ]] || return 0
  printf '\n== %s\n' "$name"
  (cd "$package" && within "$seconds" "$(binary "$package")" "$@") 2>&1 | tee "$(log "$name")"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed "$name"
}

if [ "${1:-}" != card ]; then
  step "host cuda" 120 graph/cuda -test.run Host
  step "host optim" 60 optim -test.run HostDevice
  step "host fits" 60 layers -test.run HostDevice
  step "host encoders" 60 layers/encoders -test.run HostDevice
  step "host baselines" 60 layers/baselines -test.run HostDevice
  step "host metrics" 60 experiments/metrics -test.run HostDevice
fi

step "card" 20 graph/cuda -test.v -test.run CardGamma
if grep -q 'there is no card to test on' "$out/card.log"; then
  report
  echo "verify.sh: there is no CUDA device on this machine, so nothing was checked or timed on a card" >&2
  [ ${#failures[@]} -eq 0 ] && exit 3
  exit 1
fi
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,memory.total --format=csv

step "card kernels" 80 graph/cuda -test.run Card
step "card fits" 60 layers -test.v -test.run Card
step "card encoders" 60 layers/encoders -test.v -test.run Card
step "card baselines" 60 layers/baselines -test.v -test.run Card
step "card metrics" 60 experiments/metrics -test.v -test.run Card
step "card all fits" 60 experiments/bench -test.v -test.run CardFits
step "card cifar" 90 experiments/bench -test.v -test.run CardOnCIFAR
step "card crossover" 40 experiments/bench -test.v -test.run CardCrossover
step "card times" 90 experiments/bench -test.run xxx -test.bench Card -test.benchtime 20x
step "wall clock" 60 experiments/bench -test.run xxx -test.bench OnDeviceWorkloads -test.benchtime 3x

# torch DEVICE ROWS LCE… times peer_torch.py's workloads at the sizes of ours on a device.
torch() {
  within 90 python3 - "$@" <<'PYTHON'
import json, runpy, sys, time, torch
device, rows, sizes = sys.argv[1], sys.argv[2], [tuple(map(int, s.split("x"))) for s in sys.argv[3:]]
wait = torch.cuda.synchronize if device == "cuda" else lambda: None
if device != "cpu":
    torch.set_default_device(device)
sys.argv = ["peer_torch.py", "--rows", rows, "--only", "none"]
peer = runpy.run_path("experiments/bench/peer_torch.py")
def median(run, reps=5):
    times = []
    for _ in range(reps + 2):
        wait(); start = time.perf_counter()
        run()
        wait(); times.append(time.perf_counter() - start)
    return sorted(times[2:])[reps // 2]
def show(name, run, reps=5):
    print(json.dumps({"torch " + torch.__version__: name, "device": device, "ms": round(1e3 * median(run, reps), 3)}), flush=True)
for c in (10, 100):
    show(f"quantizer rows={rows} classes={c}", peer["quantizer_epoch"](C=c))
for c in (10, 100):
    show(f"calibrator rows={rows} classes={c}", peer["calibrator_epoch"](c, int(rows)), 5 if device == "cuda" else 1)
run, n = peer["inference"]()
show(f"predictions rows={n} classes=10", run)
for n, c in sizes:
    show(f"LCE rows={n} classes={c}", peer["lce"](c, n), 1)
PYTHON
}

printf '\n== torch\n'
if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  torch cuda 10000 20250x10 75000x8 20250x100 | tee "$out/torch.log"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed torch
else
  echo "no torch with CUDA here: no times beside ours"
fi

if sanitizer=$(command -v compute-sanitizer); then
  for tool in memcheck racecheck; do
    printf '\n== %s\n' "$tool"
    (cd graph/cuda && within 60 "$sanitizer" --tool "$tool" --error-exitcode 9 "$(binary graph/cuda)" -test.run CardKernels) 2>&1 | tail -5 | tee "$out/$tool.log"
    if [ "${PIPESTATUS[0]}" -ne 0 ]; then
      if grep -q 'not supported' "$out/$tool.log"; then
        echo "$tool cannot run on this machine"
      else
        failed "$tool"
      fi
    fi
  done
else
  echo "no compute-sanitizer here: races and stray accesses were not looked for on the card"
fi

report
[ ${#failures[@]} -eq 0 ] && printf '\nverify.sh: all passed; logs in %s\n' "$out"
