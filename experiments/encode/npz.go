package encode

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"calibra/data"

	"github.com/sbinet/npyio/npy"
)

// write makes the npz files of the rows in kept.
func (j *Job) write(kept *partial, out string) error {
	first := 0
	files := map[string][]member{}
	for _, p := range j.parts() {
		path, name := out, p.name
		if name == "shifted" {
			path, name = ShiftedPath(out), "test"
		}
		at, n, m, labels := first, p.in.Len(), kept.Features, p.in.Labels
		files[path] = append(files[path],
			floats(name+"_features", n, m, func(w io.Writer) error { return kept.copy(w, at, n, 0, m) }),
			floats(name+"_logits", n, kept.Classes, func(w io.Writer) error { return kept.copy(w, at, n, m, kept.width()) }),
			member{name + "_labels", func(w io.Writer) error { return writeLabels(w, labels) }})
		first += n
	}
	for _, path := range slices.Sorted(maps.Keys(files)) { // F-shifted.npz before F.npz: whoever sees F has both
		if err := data.WriteFile(path, func(w io.Writer) error { return writeNPZ(w, files[path]) }); err != nil {
			return err
		}
	}
	return nil
}

// member is an array of an npz file.
type member struct {
	name  string
	write func(io.Writer) error
}

// writeNPZ is data.WriteNPZ for arrays that are not in memory: members are stored, not
// deflated, and dated 1980, so that equal arrays give equal bytes.
func writeNPZ(w io.Writer, members []member) error {
	z := zip.NewWriter(w)
	for _, m := range members {
		f, err := z.CreateHeader(&zip.FileHeader{Name: m.name + ".npy", Method: zip.Store, Modified: time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			return err
		}
		if err := m.write(f); err != nil {
			return fmt.Errorf("array %s: %w", m.name, err)
		}
	}
	return z.Close()
}

// floats is an N×M array of float32, written row by row: format 1.0 of
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
func floats(name string, n, m int, rows func(io.Writer) error) member {
	return member{name, func(w io.Writer) error {
		head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", n, m)
		const before = 10 // magic, version and length
		head += strings.Repeat(" ", 63-(before+len(head))%64) + "\n"
		start := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(head)))
		if _, err := w.Write(append(start, head...)); err != nil {
			return err
		}
		return rows(w)
	}}
}

func writeLabels(w io.Writer, labels []int) error {
	out := make([]int64, len(labels))
	for i, y := range labels {
		out[i] = int64(y)
	}
	return npy.Write(w, out)
}
