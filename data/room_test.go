package data

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// allocated is how many bytes f takes, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// zeros is an npz array of so many zeros, cheap to deflate.
func zeros(name, descr, shape string, bytes int) member {
	return member{name, rawNPY(descr, false, shape, make([]byte, bytes))}
}

// endless is a gzipped text that repeats part.
func endless(t *testing.T, part string, times int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(bytes.Repeat([]byte(part), times)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestAllocatesWhatIsThere: files that claim much, or hold one thing that is endless, are
// refused before their claims take memory. 64 MB is a small part of what each claims.
func TestAllocatesWhatIsThere(t *testing.T) {
	header := "true,preds,logits_0,logits_1\n"
	for name, c := range map[string]struct {
		file string
		text []byte
		open func(path string) error
		want string
	}{
		"rows that do not agree": {"f.npz", zipped(t, zip.Deflate, zeros("cal_features", "<f4", "(500000, 32)", 64e6), zeros("cal_logits", "<f4", "(300, 10)", 12000)),
			func(path string) error { _, err := Open(path); return err }, "cal_features has 500000 rows and cal_logits has 300"},
		"predictions that do not agree": {"f.npz", zipped(t, zip.Deflate, zeros("probs", "<f4", "(500000, 32)", 64e6), zeros("labels", "|u1", "(3,)", 3)),
			func(path string) error { _, err := ReadPredictions(path); return err }, "probs has 500000 rows and labels has 3"},
		"bytes that do not inflate": {"f.npz", cutOff(t, "cal_features", "(500000, 32)", 64e6),
			func(path string) error { _, err := Open(path); return err }, "cal_features is damaged"},
		"one line": {"f.csv.gz", endless(t, "1,", 3e7),
			func(path string) error { _, err := OpenCSV(path, ""); return err }, "more than 4 MB"},
		"one quotation": {"f.csv.gz", endless(t, "1,2,\"3"+strings.Repeat("\n1,2,3", 5e6), 1),
			func(path string) error { _, err := OpenCSV(path, ""); return err }, "more than 4 MB"},
		"one line of results": {"f.csv", append([]byte(header), bytes.Repeat([]byte("1,"), 1e7)...),
			func(path string) error { _, err := Open(path); return err }, "more than 4 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			path := tempFile(t, c.file, c.text)
			var err error
			taken := allocated(func() { err = c.open(path) })
			if !isInput(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			// A row of 4 MB is two million fields of two bytes, for each of which package
			// csv keeps a string and a place, in slices that it doubles.
			if taken > 384<<20 || taken > 64<<20 && !strings.Contains(c.want, "MB") {
				t.Errorf("took %d MB", taken>>20)
			}
		})
	}
}

// cutOff is an npz whose directory claims more bytes of its one array than inflating gives.
func cutOff(t *testing.T, name, shape string, claimed int) []byte {
	t.Helper()
	npy := rawNPY("<f4", false, shape, make([]byte, 1<<20))
	var deflated bytes.Buffer
	f, err := flate.NewWriter(&deflated, flate.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(npy); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	whole := len(npy) - 1<<20 + claimed
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&zip.FileHeader{Name: name + ".npy", Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(npy), CompressedSize64: uint64(deflated.Len()), UncompressedSize64: uint64(whole)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, &deflated); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestStoredClaims: an array that is stored has as many bytes as it claims.
func TestStoredClaims(t *testing.T) {
	file := zipped(t, zip.Store, good(t)[0])
	at := bytes.LastIndex(file, []byte("PK\x01\x02")) // of the directory's one entry
	size := binary.LittleEndian.Uint32(file[at+24:])
	binary.LittleEndian.PutUint32(file[at+24:], 2*size)
	if _, err := Open(tempFile(t, "f.npz", file)); !isInput(err) || !strings.Contains(err.Error(), "claims") {
		t.Errorf("got %v", err)
	}
}

// TestStrayLabel: one label cannot make more classes than there are rows, unless they are
// few.
func TestStrayLabel(t *testing.T) {
	labels := make([]byte, 8*2000)
	binary.LittleEndian.PutUint16(labels[8*17:], 60000)
	f := member{"cal_features", rawNPY("<f4", false, "(2000, 1)", make([]byte, 8000))}
	y := member{"cal_labels", rawNPY("<i8", false, "(2000,)", labels)}
	if _, err := Open(tempFile(t, "f.npz", zipped(t, 0, f, y))); !isInput(err) || !strings.Contains(err.Error(), "cal_labels holds 60000 at row 17; without logits there can be no more classes than rows, so labels must lie in 0…1999") {
		t.Errorf("got %v", err)
	}
	s, err := Open(tempFile(t, "f.npz", zipped(t, 0, array(t, "test_features", "<f4", "(2, 1)", 1, 2), array(t, "test_labels", "<i2", "(2,)", 3, 25))))
	if err != nil || s.Classes != 26 {
		t.Errorf("two rows of 26 classes: %v", err)
	}
}

// TestRoom: what has no room is refused, and the sentence tells how much has.
func TestRoom(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(64 << 20))
	if room() != 48<<20 {
		t.Errorf("%d bytes of room under a limit of 64 MB", room())
	}
	path := tempFile(t, "f.npz", zipped(t, zip.Deflate, zeros("cal_features", "|u1", "(20000, 1000)", 2e7)))
	_, err := Open(path)
	if want := "cal_features takes 80 MB of memory for 20000 rows; at most 12582 rows fit into the 50.3 MB there are"; !isInput(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	large := tempFile(t, "model.safetensors", nil)
	if err := os.Truncate(large, 1<<30); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{large, os.DevNull, t.TempDir()} {
		if _, err := ReadFile(path); !isInput(err) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

// TestForeignNames: names of arrays are shown without what a terminal would obey, and not
// at full length.
func TestForeignNames(t *testing.T) {
	var members []member
	for i := range 20 {
		members = append(members, array(t, fmt.Sprintf("\x1b[2J%d", i)+strings.Repeat("x", 3000), "<f4", "(1, 1)", 0))
	}
	_, err := Open(tempFile(t, "f.npz", zipped(t, 0, members...)))
	if !isInput(err) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 2000 || !strings.Contains(err.Error(), "8 more") {
		t.Errorf("got %v", err)
	}
}
