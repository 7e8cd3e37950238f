package data

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// The text of a csv file may be packed by gzip, bzip2 or zstd, be UTF-8 or UTF-16, and end its lines
// with \n, \r\n or \r: what it is, is told by its bytes, whatever its name.

// csvEnd is how names of csv files end, with the ending of what packed them.
var csvEnd = regexp.MustCompile(`(?i)\.[ct]sv(\.gz|\.bz2|\.zst)?$`)

// isCSV reports whether a file is csv, by its name.
func isCSV(path string) bool { return csvEnd.MatchString(path) }

// packings are the kinds of packed files that are unpacked, by what they begin with.
var packings = []struct {
	magic, name string
	unpack      func(r io.Reader) (io.Reader, error)
}{
	{"\x1f\x8b", "gzip", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"BZh", "bzip2", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	{"\x28\xb5\x2f\xfd", "zstd", func(r io.Reader) (io.Reader, error) {
		const window = 128 << 20 // zstd --long writes no longer one
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
	}},
}

// csvText is the text of the csv file r at path in UTF-8, each line ended by \n.
func csvText(path string, r io.Reader) (io.Reader, error) {
	text, err := unpacked(path, bufio.NewReader(r))
	if err != nil {
		return nil, err
	}
	const mark = "\ufeff" // of byte order, which spreadsheets put before UTF-8 too; it is no part of the first field
	start, _ := text.Peek(64)
	switch {
	case bytes.HasPrefix(start, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(start, []byte("\x00\x00\xfe\xff")):
		return nil, Inputf(path, "is text in UTF-32; save it as UTF-8")
	case bytes.HasPrefix(start, []byte(mark)):
		_, _ = text.Discard(len(mark)) // they are buffered
	case bytes.HasPrefix(start, []byte("\xff\xfe")), everySecond(start, 1):
		return &lines{r: transform.NewReader(text, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())}, nil
	case bytes.HasPrefix(start, []byte("\xfe\xff")), everySecond(start, 0):
		return &lines{r: transform.NewReader(text, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder())}, nil
	case bytes.IndexByte(start, 0) >= 0:
		return nil, Inputf(path, "is no text: it holds bytes of zero; write it as csv in UTF-8, or name it by what it is, as F.npz or F.parquet")
	}
	return &lines{r: text}, nil
}

// everySecond reports whether every second byte is zero from the first on, or from the second, and no other:
// as in UTF-16 of letters and digits without a mark of byte order.
func everySecond(start []byte, first int) bool {
	for i, b := range start {
		if (b == 0) != (i%2 == first) {
			return false
		}
	}
	return len(start) > 1
}

// unpacked is the file without its packing.
func unpacked(path string, r *bufio.Reader) (*bufio.Reader, error) {
	start, _ := r.Peek(4)
	for _, p := range packings {
		if !bytes.HasPrefix(start, []byte(p.magic)) {
			continue
		}
		inner, err := p.unpack(r)
		if err != nil {
			return nil, Inputf(path, "is packed with %s and %w", p.name, cutShort(err))
		}
		return bufio.NewReader(packed{inner, p.name}), nil
	}
	return r, nil
}

// packed reads what was packed, and its errors name the packing.
type packed struct {
	io.Reader
	name string
}

func (p packed) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != nil && err != io.EOF {
		err = Inputf("", "is packed with %s and %w", p.name, cutShort(err))
	}
	return n, err
}

// cutShort is the error of packed bytes, in plain words.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("cut short; copy or write the file again")
	}
	return fmt.Errorf("damaged (%w); copy or write the file again", err)
}

// lines ends each line of a text with \n, be it ended by \n, \r\n or \r.
type lines struct {
	r        io.Reader
	carriage bool // the byte before was \r
}

func (l *lines) Read(p []byte) (int, error) {
	for {
		n, err := l.r.Read(p)
		kept := p[:0]
		for _, b := range p[:n] {
			after := l.carriage
			l.carriage = b == '\r'
			switch {
			case b == '\r':
				kept = append(kept, '\n')
			case b != '\n' || !after:
				kept = append(kept, b)
			}
		}
		if len(kept) > 0 || err != nil || len(p) == 0 {
			return len(kept), err
		}
	}
}
