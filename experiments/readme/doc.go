// Package readme writes the numbers of README.md from result files, so that none is
// copied by hand.
//
// The text between two marks of README.md is a region,
//
//	<!-- calibra:begin NAME -->
//	…
//	<!-- calibra:end -->
//
// and [Generate] fills each from files in experiments/readme/results, which are what
// the commands wrote, unchanged:
//
//	quickstart.csv   results.csv of calibra quickstart
//	main.csv         results.csv of calibra study main
//	calsize.csv      results.csv of calibra study calsize
//	beyond.csv       results.csv of calibra study beyond
//	variants.csv     results.csv of calibra study variants
//	benchmark.csv, benchmark-tests.csv
//	                 results.csv and tests.csv of calibra study benchmark
//	compare.csv      results.csv of calibra compare --methods all
//	reference.csv    results.csv of calibra compare --methods vq, on the seeds of published.csv
//	published.csv    the published implementation on the same rows
//	truth-ranks.csv, truth-diagnosis.csv
//	                 ranks.csv and diagnosis.csv of calibra study truth
//	rate-error.svg   the picture of calibra theory rate --out, shown as it is
//	q2-cubic-known.svg  the picture of calibra study ess, shown as it is
//	bench.jsonl      the object that calibra bench --json prints, a line a run
//	peers.jsonl      the object that experiments/bench/peers.py prints, a line a run
//
// New results are copied over the old ones; calibra readme does the rest.
package readme
