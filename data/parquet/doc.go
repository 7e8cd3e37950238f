// Package parquet reads and writes the Parquet files that hold tables of numbers, lists of
// numbers and text: https://github.com/apache/parquet-format. It takes no more memory than the
// bytes of a file can fill, whatever a damaged file claims, and it is small: the two libraries
// that there are for Go trust the sizes in a page's header, one decodes LZ4 wrongly and the other
// brings 19 MB of kernels and network code into the program.
//
//	f, err := parquet.Open(r, size, most)       the footer: columns and row groups
//	err = f.Read(column, func(p parquet.Page))  a column's values, page by page
//	err = parquet.Write(w, columns)             the columns of a table, without nulls
//
// All encodings of these types are read, pages of both versions, and the codecs Snappy, gzip,
// Brotli, Zstandard and LZ4_RAW. What is refused is said by its name: LZO, the LZ4 of Hadoop
// (a format that its writers disagree on), encryption, and levels that are BIT_PACKED, an encoding
// that the format itself gave up.
package parquet
