// Package parquet reads and writes the Parquet files that hold tables of numbers, lists of
// numbers and text: https://github.com/apache/parquet-format. It never takes more memory than the
// contents of a file can fill, even if a damaged file claims more, and it is small. The two existing Go libraries trust
// the sizes in a page's header. One of them, parquet-go 0.32, decodes LZ4 wrongly, and of a damaged LZ4 page it doubles
// its memory without end. The other, arrow-go's, adds 20 MB to the program.
//
//	f, err := parquet.Open(r, size, most)       the footer: columns and row groups
//	err = f.Read(column, func(p parquet.Page))  a column's values, page by page
//	err = parquet.Write(w, columns)             the columns of a table, without nulls
//
// All encodings of these types are read, pages of both versions, and the codecs Snappy, gzip,
// Brotli, Zstandard and LZ4_RAW. An error names what is not supported: LZO, Hadoop's LZ4
// (on which its writers disagree), encryption, and BIT_PACKED levels, which the format has deprecated.
package parquet
