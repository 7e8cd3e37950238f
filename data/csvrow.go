package data

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
)

// longestRow is how many bytes a row of a csv file may have: one of 200,000 numbers of
// twenty digits has fewer. A package that reads a row as one would hold a file without a
// line's end whole, many times over.
const longestRow = 4 << 20

// rowLimit is r up to a row that is longer than longestRow, where reading ends with an
// error. A line's end between quotes ends no row.
type rowLimit struct {
	r      io.Reader
	length int // of the row so far
	quoted bool
}

// Read is that of io.Reader.
func (l *rowLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		stop := bytes.IndexByte(rest, '\n')
		if quote := bytes.IndexByte(rest, '"'); quote >= 0 && (stop < 0 || quote < stop) {
			stop, l.quoted = quote, !l.quoted
			l.length += stop + 1
		} else if stop < 0 {
			stop = len(rest) - 1
			l.length += len(rest)
		} else if l.length += stop + 1; !l.quoted {
			l.length = 0
		}
		if l.length > longestRow {
			return n, fmt.Errorf("a row has more than %d MB; no quotation mark may be left open, and every row needs a line of its own", longestRow>>20)
		}
		rest = rest[stop+1:]
	}
	return n, err
}

// newCSV reads records of r, each in the memory of the one before, without the mark of byte
// order that spreadsheets put before UTF-8: it is no part of the first field.
func newCSV(r io.Reader) *csv.Reader {
	const mark = "\ufeff"
	text := bufio.NewReaderSize(&rowLimit{r: r}, 1<<16)
	if start, _ := text.Peek(len(mark)); string(start) == mark {
		_, _ = text.Discard(len(mark)) // they are buffered
	}
	records := csv.NewReader(text)
	records.ReuseRecord, records.TrimLeadingSpace = true, true
	return records
}

// eachRecord calls do with the records of the file at path, and their numbers from 1, until one is
// an error, or a table of so many bytes a field has no room.
func eachRecord(path string, records *csv.Reader, bytes float64, do func(n int, record []string) error) error {
	for n := 1; ; n++ {
		record, err := records.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return Inputf(path, "%w", truncated(err))
		case err != nil:
			return Inputf(path, "cannot be read: %w", err)
		}
		if err := do(n, record); err != nil {
			return err
		}
		if n%(1<<16) == 0 {
			if err := CheckRoom(path, "the table", n, bytes*float64(len(record)), "rows"); err != nil {
				return err
			}
		}
	}
}
