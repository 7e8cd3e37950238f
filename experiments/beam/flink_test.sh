#!/usr/bin/env bash
# Runs evaluate on Flink, embedded in Beam's job server, with the workers in this process
# (LOOPBACK), and holds what it prints to what Prism makes of the same shards, byte for byte.
# Needs a JDK and Maven. The newest runner whose parts Maven Central has all is Beam 2.62's.
set -euo pipefail
cd "$(dirname "$0")"
out=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$out"' EXIT
program=${1:-}
[ -n "$program" ] || { program=$out/calibra-beam; go build -o "$program" .; }
jars=${CALIBRA_FLINK_JARS:-$out/jars}
[ -d "$jars" ] || mvn -B -q -f flink/pom.xml dependency:copy-dependencies -DoutputDirectory="$jars" -DincludeScope=runtime

port=$((20000 + RANDOM % 20000))
java -Xmx1g -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$jars/*" org.apache.beam.runners.flink.FlinkJobServerDriver \
  --job-host localhost --job-port $port --artifact-port 0 --expansion-port 0 --flink-master '[local]' >"$out/server" 2>&1 &
server=$!
for _ in $(seq 120); do
  (: >/dev/tcp/localhost/$port) 2>/dev/null && break
  kill -0 $server || { cat "$out/server"; exit 1; }
  sleep 1
done
"$program" generate --rows 4000 --shards 4 --classes 4 --out "$out/part-*.npz"
"$program" evaluate --in "$out/part-*.npz" --json >"$out/prism.json"
"$program" evaluate --in "$out/part-*.npz" --json --runner flink --endpoint localhost:$port --environment_type LOOPBACK >"$out/flink.json" ||
  { tail -50 "$out/server"; exit 1; }
cmp "$out/prism.json" "$out/flink.json"
echo "Flink and Prism print the same $(wc -c <"$out/flink.json") bytes"
