// Package compare fits methods side by side on one problem, over several seeds, and
// says which of them differ by more than chance.
//
//	Run           every method with every seed, on a bounded number of cores
//	Rows          mean ± sd over the seeds, 95 % bootstrap intervals over the test rows,
//	              and every method against the best on resampled test rows, Holm-corrected
//	Result.Write  report.html, tables, figures, results.csv and metrics.json
package compare
