// Package results keeps the numbers of README.md and of the pages in this folder true to
// the result files beside them, which are what commands wrote, unchanged.
//
// A page is Markdown, written by hand. A table in it stands between two marks, the first
// of which names what the table shows:
//
//	<!-- calibra:table file=main.csv rows=method values=lce,lce_noise,nll best=column -->
//	…
//	<!-- calibra:end -->
//
// [Generate] fills it. So no number of a table is copied by hand, and a number in the text
// around must stand in a table of the same page: a page whose text has another is refused.
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
//	beside                             behind each value how many times that of the first row it is, or that is of it
//
// A file may be several, with commas between, and of JSON objects, one a line (.jsonl).
//
// The column commit of a result file names the program that computed a line.
//
// The other mark is calibra:lines, a file of columns as it is.
//
// The command that makes each file stands on its page. New results are copied over the old
// ones; calibra readme does the rest, and calibra readme --check fails on what is stale.
package results
