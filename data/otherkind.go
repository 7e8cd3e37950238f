package data

import (
	"archive/zip"
	"bytes"
	"slices"
	"strings"
)

// otherKinds are files that are taken for features or predictions, by what they begin with, and what to
// do about them.
var otherKinds = []struct{ magic, says string }{
	{"\xff\xff\xff\xff", "is an Arrow stream; write it as an Arrow file, with pyarrow.ipc.new_file"},
	{"FEA1", "is Feather of version 1; write it as version 2, with pyarrow.feather.write_feather(table, path)"},
	{"\x89HDF\r\n", "is an HDF5 file; make it an npz file in Python: import h5py, numpy\nwith h5py.File('F.h5') as f: numpy.savez('F.npz', **{k: f[k][:] for k in f})"},
	{"\x93NUMPY", "is a single array of numpy.save; write all arrays into one file by numpy.savez"},
	{"\x80\x02", asPickle}, {"\x80\x03", asPickle}, {"\x80\x04", asPickle}, {"\x80\x05", asPickle},
	{"\xd0\xcf\x11\xe0", "is an old Excel workbook (xls); save the sheet as csv in UTF-8"},
	{"\xfd7zXZ\x00", "is packed with xz; unpack it by xz -d, or pack it with gzip"},
	{"7z\xbc\xaf\x27\x1c", "is a 7z archive; unpack it and name the file in it"},
	{"Rar!", "is a rar archive; unpack it and name the file in it"},
	{"\x04\x22\x4d\x18", "is packed with lz4; unpack it by lz4 -d, or pack it with gzip"},
	{"SQLite format 3", "is an SQLite database; write the table as csv or Parquet"},
	{"MATLAB 5.0", "is a MATLAB file; make it an npz file in Python: scipy.io.loadmat reads it, numpy.savez writes it"},
	{"ORC", "is an ORC file; write it as Parquet"},
	{"Obj\x01", "is an Avro file; write it as Parquet"},
	{"%PDF", "is a PDF file and no table"},
}

const asPickle = "is a Python pickle; write an npz file by numpy.savez, or a table by to_parquet or to_csv"

// otherTexts are the same of text, in small letters and without the spaces before it.
var otherTexts = []struct{ start, says string }{
	{"<!doctype html", asPage}, {"<html", asPage}, {"<?xml", "is XML and no table; write it as csv or Parquet"},
	{"version https://git-lfs", "is a pointer of Git LFS and not the file; get the file by git lfs pull"},
	{"{", asJSON}, {"[", asJSON},
}

const (
	asPage = "is a page of a web site and no table; download the file itself"
	asJSON = "is JSON; write it as csv, Parquet or npz"
)

// otherKind is what a file is that begins so and is none of those that are read, and what to do about
// it; "" of others. A csv file may be packed.
func otherKind(start []byte, csv bool) string {
	for _, kind := range otherKinds {
		if bytes.HasPrefix(start, []byte(kind.magic)) {
			return kind.says
		}
	}
	text := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(string(start), "\ufeff")))
	for _, kind := range otherTexts {
		if strings.HasPrefix(text, kind.start) {
			return kind.says
		}
	}
	for _, p := range packings {
		if !csv && bytes.HasPrefix(start, []byte(p.magic)) {
			return "is packed with " + p.name + "; unpack it, or name it F.csv.gz if it is a packed csv file"
		}
	}
	return ""
}

// otherZip is what a zip without arrays is, and what to do about it; "" of an npz file.
func otherZip(z *zip.Reader) string {
	holds := func(match func(name string) bool) bool {
		return slices.ContainsFunc(z.File, func(f *zip.File) bool { return match(f.Name) })
	}
	switch {
	case holds(func(name string) bool { return strings.HasSuffix(name, ".npy") }):
		return ""
	case holds(func(name string) bool { return strings.HasPrefix(name, "xl/") }):
		return "is an Excel workbook; save the sheet as csv in UTF-8"
	case holds(func(name string) bool { return strings.HasPrefix(name, "content.xml") }):
		return "is a spreadsheet of LibreOffice; save the sheet as csv in UTF-8"
	case len(z.File) > 0:
		return "is a zip archive without arrays, which holds " + Printable(z.File[0].Name) + "; unpack it, or write the arrays by numpy.savez"
	}
	return ""
}
