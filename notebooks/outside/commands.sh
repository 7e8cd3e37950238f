#!/bin/sh
# Every command on the parts of this module, in a new directory: sh commands.sh [CALIBRA]
set -e
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
calibra=${1:-$work/calibra}
[ -n "$1" ] || (cd "$here" && go build -o "$calibra" .)
cd "$work"

# Rows in the format of the raw source: three classes around points of their own.
awk 'BEGIN { srand(1); for (i = 0; i < 900; i++) { y = i % 3; line = "c" y
  for (j = 1; j <= 8; j++) line = line " " j ":" (rand() + rand() + rand() + (j % 3 == y)); print line } }' >rows.svm

"$calibra" -q pretrain --data svmlight:rows.svm --encoder mlp --network '{"hidden":[16]}' --epochs 5 --out network
"$calibra" -q encode --model network --out rows.npz
sizes="--set codebook.slots=4 --set codebook.codewords=12"
"$calibra" -q fit --in rows.npz --method rank $sizes --set calibrate.beta1=0.8 --out rank
"$calibra" -q fit --in rows.npz --method squash --set optim.rule=mylion --set optim.rate=1e-3 --out squash
"$calibra" -q fit --in rows.npz --method vq $sizes --set optim.rule=mylion --out vq
"$calibra" -q fit --in rows.npz --method bias --out bias
for method in rank squash vq bias; do
  "$calibra" -q apply --model $method --in rows.npz --out $method.npz
  "$calibra" -q evaluate --in $method/predictions.npz --json | grep -q '"spherical"'
  "$calibra" -q diagnose --in $method/predictions.npz --out $method-diagnosis >/dev/null
  "$calibra" -q export --model $method --onnx $method.onnx
done
"$calibra" -q compare --in rows.npz --methods rank,squash,bias,ts --codewords 12 --out compare | grep Spherical >/dev/null ||
  grep -q Spherical compare/report.html
"$calibra" -q study main --data svmlight:rows.svm --methods rank,squash,bias,ts --seeds 1 --codewords 12 --out study
grep -q ',spherical,' study/results.csv
echo "pretrain, encode, fit, apply, evaluate, diagnose, export, compare and study know the parts of this module"
