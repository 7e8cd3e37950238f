// Calibra-beam applies models, evaluates predictions and runs studies on more rows than one
// machine holds, on Apache Beam. It is a module of its own and needs Go 1.26, as Beam does:
//
//	go build -o calibra-beam .            # in experiments/beam
//	calibra-beam evaluate --in 'predictions/part-*.npz' --json
//	calibra-beam apply    --model runs/vq --in 'gs://bucket/part-*.npz' --out gs://bucket/calibrated
//	calibra-beam study    main --data letter --out runs/main
//	calibra-beam generate --rows 10000000 --shards 100 --out 'rows/part-*.npz'
//
// Rows come in shards, files of as many rows as one worker holds at a time (10⁵ are a good
// number). A shard is an element of the pipeline, read by one worker; what leaves it are sums,
// or its output file. The sums grow with classes × bins × (replicates + redraws): 0.6 MB of ten
// classes, 3 MB of a hundred and 14 MB of a thousand with the defaults. In a study a cell is
// the element.
//
// # What evaluate reports
//
// The JSON is that of calibra evaluate, with the same values of the global metrics: the sums
// behind them are exact, so that neither shards nor their order nor the runner change a bit.
// Intervals are of a bootstrap with Poisson weights, noise floors of redrawn labels, both
// drawn from the seed, the shard's place among the sorted names and the row's in it. LCE is
// measured at a random sample of rows (--anchors) against all rows, with its standard error
// ("anchors"). What needs all pairs of rows (MLCE, SKCE) or all rows at once (smooth ECE, the
// recoverable loss, quantile bins) is left out; with as many anchors as rows MLCE is there.
// A weight that is a whole number is that many copies of its row; others are refused, as soft
// labels are.
//
// # What fails
//
// A shard that cannot be read is named, counts nothing, and stops no other; the exit code is
// then 1, and "failed" in the JSON names it. So is one that has other classes or another
// embedding than the first that can be read; the sentence names both. Wrong flags, or a model
// that cannot be applied, end the command before the pipeline, with the exit code 2. What a
// runner delivers twice, after a worker was lost, is counted once: sums are told apart by their
// shard.
//
// # Runners
//
// Without flags the pipeline runs in this process, on Beam's Prism runner. Others take Beam's
// own flags:
//
//	--runner flink --endpoint localhost:8099 --environment_type LOOPBACK
//
// runs on a Flink job server with the workers in this process, which flink_test.sh tries.
// On a cluster the workers run in containers, and files, --cells and --temp, by which the result
// comes back, must be where all of them see them, a shared directory or gs:// (not tried here):
//
//	--runner flink --endpoint JOBSERVER:8099 --environment_type DOCKER \
//	  --environment_config apache/beam_go_sdk:2.77.0 --temp gs://bucket/temp
//	--runner dataflow --project P --region R --staging_location gs://bucket/staging --temp gs://bucket/temp
//
// Shards are npz, Parquet or Arrow files, as calibra reads them.
package main
