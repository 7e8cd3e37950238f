// Command results fills the tables of README.md and of the pages in this folder from the result files beside them. The
// result files are the unchanged outputs of commands.
//
// A page is Markdown, written by hand. A table in it stands between two marks, the first
// of which names what the table shows:
//
//	<!-- calibra:table file=main.csv rows=method values=lce,lce_noise,nll best=column -->
//	…
//	<!-- calibra:end -->
//
// [Generate] fills the table, so that no number of a table is copied by hand. A number with two or more decimals in the
// text must occur in a table of the same page; otherwise Generate returns an error.
//
// A table has a row for each value of the column rows. Its columns are either values, names
// of columns of the file, or the values of the column columns, with one value in each cell:
//
//	rows=COLUMN, rows=COLUMN:A,B       a row for each, or for those named, in this order
//	values=X,Y                         a column for each; X-Y and X/Y are computed by line
//	columns=COLUMN:A,B value=X         a column for each of A, B
//	where=COLUMN:A,COLUMN:B            only these lines of the file
//	best=row, best=column              the best of each in bold
//	spread                             mean ± standard deviation of the lines of a cell
//	head=TEXT, heads=A|B               heads of the first column, and of those of values
//	as=percent, as=text, decimals=N    values in %, as they are in the file, with N decimals
//	as=digits                          values with three digits
//	median                             the median of the lines of a cell, in place of their mean
//	beside                             after each value, its ratio to the value of the first row (or the inverse)
//
// file may name several files, separated by commas. A file may have JSON objects, one per line (.jsonl).
//
// The column commit of a result file names the program that computed a line.
//
// The other marks are calibra:lines, which shows a file of columns unchanged, and calibra:differences section=TEXT,
// which shows a section of [calibra/experiments/paper.Differences].
//
// Each page names the commands that make its files, and made.csv has them all. Copy new results over the old ones and
// run go run ./experiments/results. With --check it fails if a page does not agree with its files, with --old if the
// program of a file has changed since the file was made.
package main
