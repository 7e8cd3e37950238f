package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
)

// Digest is the SHA-256 of the files one after the other, in hexadecimal digits. A file
// that cannot be read is an *InputError.
func Digest(paths ...string) (string, error) {
	h := sha256.New()
	for _, path := range paths {
		f, err := OpenFile(path)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", Inputf(path, "cannot be read: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Digest is the SHA-256 of the rows, in hexadecimal digits: of their labels and logits, or their features where they
// have no logits. Sets of equal digests are the same rows in the same order; it is "" of rows without labels.
func (s *Set) Digest() string {
	if s.Labels == nil {
		return ""
	}
	h := sha256.New()
	var line []byte
	for i, y := range s.Labels {
		line = binary.LittleEndian.AppendUint64(line[:0], uint64(y))
		var row []float64
		switch {
		case s.Logits != nil:
			row = s.Logits.RawRowView(i)
		case s.Features != nil:
			row = Row(s.Features, i, make([]float64, s.Width()))
		}
		line, _ = binary.Append(line, binary.LittleEndian, row) // numbers have a size
		h.Write(line)
	}
	return hex.EncodeToString(h.Sum(nil))
}
