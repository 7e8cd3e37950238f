package encode

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"calibra/data"
	"calibra/data/disk"
)

// header is the first line of a partial file, in JSON.
type header struct {
	Key      string `json:"key"`
	Features int    `json:"features"`
	Classes  int    `json:"classes"`
}

func (h header) width() int { return h.Features + h.Classes }

// partial is the file of the rows encoded so far: a line of JSON, then each row's
// features and logits, float32 in little-endian order. What a kill left of an unfinished
// row is cut off when the file is opened again.
type partial struct {
	header
	file  *os.File
	start int64 // of the rows
	rows  int   // that are there
}

// openPartial opens the file at path and locks it, or begins it anew where it holds rows of
// another header. Done means that another process had the lock, and has encoded the rows of
// the same header and removed the file.
func openPartial(ctx context.Context, path string, h header) (p *partial, done bool, err error) {
	line, err := json.Marshal(h)
	if err != nil {
		panic("encode: a header that is no JSON: " + err.Error())
	}
	line = append(line, '\n')
	for {
		if err := disk.CheckFile(path); err != nil {
			return nil, false, err
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, false, data.Inputf(path, "cannot be written: %w", err)
		}
		if err := disk.Lock(ctx, f); err != nil {
			f.Close()
			return nil, false, fmt.Errorf("encode: another command encodes into %s: %w", path, err)
		}
		mine, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, false, fmt.Errorf("encode: %w", err)
		}
		if now, err := os.Stat(path); err == nil && os.SameFile(mine, now) {
			p, err = begin(f, h, line)
			return p, false, err
		}
		// Removed since, by whoever had the lock: with rows in it when all were written to
		// the file that they are for, without any after an error.
		have := make([]byte, len(line))
		_, err = f.ReadAt(have, 0)
		f.Close()
		if err == nil && string(have) == string(line) && mine.Size() > int64(len(line)) {
			return nil, true, nil
		}
	}
}

// begin reads what f holds, and begins it anew where it holds rows of another header.
func begin(f *os.File, h header, line []byte) (*partial, error) {
	p := &partial{header: h, file: f, start: int64(len(line))}
	have := make([]byte, len(line))
	if _, err := f.ReadAt(have, 0); err != nil || string(have) != string(line) {
		if err := f.Truncate(0); err != nil {
			return nil, p.fail(err)
		}
		if _, err := f.WriteAt(line, 0); err != nil {
			_ = disk.Remove(f.Name()) // which holds nothing
			return nil, p.fail(err)
		}
	}
	info, err := f.Stat()
	if err != nil {
		return nil, p.fail(err)
	}
	p.rows = int((info.Size() - p.start) / p.rowBytes())
	if err := f.Truncate(p.end()); err != nil {
		return nil, p.fail(err)
	}
	return p, nil
}

func (p *partial) rowBytes() int64 { return 4 * int64(p.width()) }

func (p *partial) end() int64 { return p.start + int64(p.rows)*p.rowBytes() }

// fail closes the file, which cannot be used.
func (p *partial) fail(err error) error {
	p.close()
	return fmt.Errorf("encode: %w", err)
}

func (p *partial) close() { p.file.Close() } // a second time does nothing

// append writes rows of features and logits.
func (p *partial) append(features, logits []float32) error {
	n := len(features) / p.Features
	raw := make([]byte, 0, int64(n)*p.rowBytes())
	for i := range n {
		row := slices.Concat(features[i*p.Features:][:p.Features], logits[i*p.Classes:][:p.Classes])
		raw, _ = binary.Append(raw, binary.LittleEndian, row) // numbers have a size
	}
	if _, err := p.file.WriteAt(raw, p.end()); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	p.rows += n
	return nil
}

// copy writes the values at columns lo … hi−1 of rows first … first+n−1 to w, as they
// are in the file.
func (p *partial) copy(w io.Writer, first, n, lo, hi int) error {
	section := io.NewSectionReader(p.file, p.start+int64(first)*p.rowBytes(), int64(n)*p.rowBytes())
	row, r := make([]byte, p.rowBytes()), bufio.NewReaderSize(section, 1<<20)
	for range n {
		if _, err := io.ReadFull(r, row); err != nil {
			return err
		}
		if _, err := w.Write(row[4*lo : 4*hi]); err != nil {
			return err
		}
	}
	return nil
}
