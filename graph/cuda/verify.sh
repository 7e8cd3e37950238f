#!/usr/bin/env bash
# Builds, checks and times all that runs on a CUDA device, in one call of under 8 minutes:
#
#   graph/cuda/verify.sh             on a machine with a card and Go; or, where Go is not,
#   graph/cuda/verify.sh prebuild    before, where Go is: leaves graph/cuda/verify/carry.tgz,
#                                    to be carried along
#
# What needs no card runs first. Without a card it then says so and exits with 3. Logs go to
# $OUT, or else to graph/cuda/verify/. With CALIBRA_SHARED, the folder that holds
# data/cifar10-resnet.npz, a whole fit is compared too; with torch for Python, its times are
# printed beside ours.
set -uo pipefail
cd "$(dirname "$0")/../.."
bin=$PWD/graph/cuda/verify
out=${OUT:-$bin}
mkdir -p "$bin" "$out"
packages="graph/cuda graph/op layers experiments/metrics experiments experiments/bench"

binary() { echo "$bin/$(echo "$1" | tr / -).test"; }

build() {
  for package in $packages; do
    go test -c -ldflags='-s -w' -o "$(binary "$package")" "./$package" || exit 1
  done
  go build -ldflags='-s -w' -o "$bin/calibra" ./experiments/cmd/calibra || exit 1
}

if [ "${1:-}" = prebuild ]; then
  build
  tar -C "$bin" -czf "$bin/carry.tgz" $(cd "$bin" && echo *.test) calibra || exit 1
  exit 0
elif command -v go >/dev/null; then
  build
elif [ -f "$bin/carry.tgz" ]; then
  tar -C "$bin" -xzf "$bin/carry.tgz" || exit 2
else
  echo "verify.sh: there is no Go here; run graph/cuda/verify.sh prebuild elsewhere and carry graph/cuda/verify/carry.tgz along" >&2
  exit 2
fi

# within SECONDS COMMAND… stops a command after so long, and all of them after 470 s.
within() {
  local seconds=$(( $1 < 470 - SECONDS ? $1 : 470 - SECONDS ))
  shift
  [ "$seconds" -gt 0 ] && timeout "$seconds" "$@"
}

failures=0
# step NAME SECONDS PACKAGE ARGUMENTS… runs a package's tests where the package lies.
step() {
  local name=$1 seconds=$2 package=$3
  shift 3
  printf '\n== %s\n' "$name"
  (cd "$package" && within "$seconds" "$(binary "$package")" "$@") 2>&1 | tee "$out/$(echo "$name" | tr ' ' -).log"
  if [ "${PIPESTATUS[0]}" -ne 0 ]; then
    echo "FAILED: $name"
    failures=$((failures + 1))
  fi
}

step "host cuda" 60 graph/cuda -test.run Host
step "host kernels" 60 graph/op -test.run 'Host|EveryDevice'
step "host fits" 60 layers -test.run HostDevice
step "host metrics" 60 experiments/metrics -test.run HostDevice

"$bin/calibra" info | tee "$out/info.log"
if grep -q '^CUDA device *none' "$out/info.log"; then
  echo "verify.sh: there is no CUDA device on this machine, so nothing was checked or timed on a card ($failures host steps failed)" >&2
  [ "$failures" -eq 0 ] && exit 3
  exit 1
fi
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,memory.total --format=csv

step "card kernels" 60 graph/op -test.v -test.run Card
step "card fits" 60 layers -test.v -test.run Card
step "card metrics" 60 experiments/metrics -test.v -test.run Card
step "card cifar" 90 experiments -test.v -test.run Card

if sanitizer=$(command -v compute-sanitizer); then
  for tool in memcheck racecheck; do
    printf '\n== %s\n' "$tool"
    (cd graph/op && within 60 "$sanitizer" --tool "$tool" --error-exitcode 9 "$(binary graph/op)" -test.run CardKernels) 2>&1 | tail -5 | tee "$out/$tool.log"
    [ "${PIPESTATUS[0]}" -ne 0 ] && failures=$((failures + 1))
  done
else
  echo "no compute-sanitizer here: races and stray accesses were not looked for on the card"
fi

step "card times" 100 experiments/bench -test.run xxx -test.bench Card -test.benchtime 20x
printf '\n== bench\n'
within 60 "$bin/calibra" bench --device cuda --json | tee "$out/bench.json"

if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  printf '\n== torch\n'
  within 90 python3 - <<'PYTHON' | tee "$out/torch.json"
# peer_torch.py on the device: the clock waits for what was enqueued.
import runpy, sys, time, torch
torch.set_default_device("cuda")
clock = time.perf_counter
def waited():
    torch.cuda.synchronize()
    return clock()
time.perf_counter = waited
sys.argv = ["peer_torch.py", "--only", "quantizer,calibrator10,calibrator100,lce10,lce100"]
runpy.run_path("experiments/bench/peer_torch.py", run_name="__main__")
PYTHON
else
  echo "no torch with CUDA here: no times beside ours"
fi

echo
[ "$failures" -eq 0 ] && echo "verify.sh: all passed; logs in $out" || echo "verify.sh: $failures steps failed; logs in $out"
[ "$failures" -eq 0 ]
