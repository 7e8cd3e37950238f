package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"

	"calibra/data"
)

// Held are files that stay as they are until they are released.
type Held struct {
	locks map[string]*os.File // of directories
	made  map[string]string   // of files that are to take their places, or to go from them: where they are
}

// Hold keeps the files beside each of the paths as they are, where they were written as a
// [Folder], until Release is called; who reads several of them holds them meanwhile and
// reads them at [Held.Path]. Nothing is written. It returns a *data.InputError if they
// are not of one run. Files that were not written as a folder are nobody's to hold.
func Hold(paths ...string) (*Held, error) {
	h := &Held{map[string]*os.File{}, map[string]string{}}
	for _, path := range paths {
		if err := h.hold(filepath.Dir(path)); err != nil {
			h.Release()
			return nil, err
		}
	}
	return h, nil
}

func (h *Held) hold(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil || h.locks[dir] != nil {
		return nil // whoever reads there meets the error
	}
	defer root.Close()
	d := inside{root}
	if _, err := d.Lstat(manifestName); err != nil && !d.plain(filepath.Join(pending, manifestName)) {
		return nil
	}
	if h.locks[dir], err = d.hold(false); err != nil {
		return err
	}
	m, waits, err := d.manifest()
	if errors.Is(err, errForeign) {
		return nil // and no folder of ours
	}
	if err != nil {
		return err
	}
	for group, files := range m.Groups {
		for name, digest := range files {
			at := name
			if made := filepath.Join(pending, name); waits && (digest == "" || d.plain(made)) {
				at, h.made[filepath.Join(dir, name)] = made, filepath.Join(dir, made)
			}
			// One that is missing is no mixture, and neither is a link.
			if have := d.digest(at); digest != "" && have != "" && have != digest {
				return data.Inputf(dir, "holds files of different runs: %s is not the one that calibra %s wrote with the others; run it again", data.Printable(name), data.Printable(group))
			}
		}
	}
	return nil
}

// digest is that of a file that no link leads to, "" if there is none.
func (d inside) digest(name string) string {
	if !d.plain(name) {
		return ""
	}
	f, err := data.OpenIn(d.Root, name)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Path is where the file at path is to be read, which is path unless a process was killed
// before it put the file there.
func (h *Held) Path(path string) string {
	if made := h.made[filepath.Clean(path)]; made != "" {
		return made
	}
	return path
}

// Release lets others write the files. A second time it does nothing.
func (h *Held) Release() {
	for _, lock := range h.locks {
		lock.Close()
	}
}
