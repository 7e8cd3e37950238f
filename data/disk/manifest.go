package disk

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"calibra/data"
)

// manifestName is the file that records which files of a directory belong together.
const manifestName = "manifest.json"

// pending is the directory of files that were committed. As long as it has a manifest, some are to take their places.
const pending = ".calibra.pending"

// manifest is that file: of each group its files with their SHA-256 in hexadecimal digits, "" of one that the last
// commit removed. A directory without one, as other programs leave it, has no groups.
type manifest struct {
	Format string                       `json:"format"`
	Groups map[string]map[string]string `json:"groups"`
}

const manifestFormat = "calibra folder 1"

// errForeign is of a file of that name which is somebody else's.
var errForeign = errors.New("is no manifest that this program wrote")

// manifest is that of the last commit; waits tells whether its files are to take their places still.
func (d inside) manifest() (m *manifest, waits bool, err error) {
	name := filepath.Join(pending, manifestName)
	if waits = d.plain(name); !waits {
		name = manifestName
	}
	text, err := data.ReadPlain(d.Root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &manifest{manifestFormat, map[string]map[string]string{}}, false, nil
	case err != nil:
		return nil, false, err
	}
	path := filepath.Join(d.Name(), name)
	if err := json.Unmarshal(text, &m); err != nil || m == nil || m.Format != manifestFormat || m.Groups == nil {
		return nil, false, data.Inputf(path, "%w; move it away", errForeign)
	}
	for name := range m.files() {
		if !fs.ValidPath(name) || !filepath.IsLocal(name) || name == "." || name == manifestName {
			return nil, false, data.Inputf(path, "tells of %.40q, which is no file beside it; move it away", name)
		}
	}
	return m, waits, nil
}

// files are those of all groups.
func (m *manifest) files() map[string]string {
	all := map[string]string{}
	for _, group := range m.Groups {
		maps.Copy(all, group)
	}
	return all
}

// place puts the files of the last commit into their places, unless they are there, and its manifest last.
func (d inside) place() error {
	m, waits, err := d.manifest()
	if err != nil {
		return err
	}
	if waits {
		files := m.files()
		for _, name := range append(slices.Sorted(maps.Keys(files)), manifestName) {
			from, below := filepath.Join(pending, name), filepath.Dir(name)
			switch {
			case !d.unlinked(below): // none that this program wrote
			case files[name] == "" && name != manifestName:
				err = d.remove(name)
			case d.plain(from):
				if err = d.mkdir(below); err == nil {
					err = d.rename(from, name)
				}
			}
			if err != nil {
				return data.Inputf(filepath.Join(d.Name(), name), "cannot be written: %w", err)
			}
		}
		d.sync(".")
	}
	return d.remove(pending)
}

// claim is the text of a manifest in which the files are the group's, and "" those that it had and has no more. A file
// that is there as another group's is a *data.InputError, and so is a link on the way to one.
func (d inside) claim(group string, files map[string]string) ([]byte, error) {
	m, _, err := d.manifest()
	if err != nil {
		return nil, err
	}
	claimed := map[string]string{}
	for name := range m.Groups[group] {
		if d.unlinked(filepath.Dir(name)) {
			claimed[name] = ""
		}
	}
	maps.Copy(claimed, files)
	delete(m.Groups, group)
	for name := range claimed {
		if below := filepath.Dir(name); !d.unlinked(below) {
			return nil, data.Inputf(filepath.Join(d.Name(), below), "is a link or a file; move it away, or name another directory")
		}
		for other, theirs := range m.Groups {
			if _, err := d.Stat(name); theirs[name] != "" && err == nil {
				return nil, data.Inputf(d.Name(), "holds %s of calibra %s; name another directory", data.Printable(name), data.Printable(other))
			}
			delete(theirs, name) // is gone
		}
	}
	for _, theirs := range m.Groups {
		maps.DeleteFunc(theirs, func(_, digest string) bool { return digest == "" })
	}
	m.Groups[group] = claimed
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// CheckAlone returns a *data.InputError if the file at path was written as one of a [Folder],
// whose other files would be another run's if it were written over.
func CheckAlone(path string) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil
	}
	defer root.Close()
	m, _, err := inside{root}.manifest()
	if err != nil {
		return nil // somebody else's
	}
	for group, files := range m.Groups {
		if files[filepath.Base(path)] != "" {
			return data.Inputf(path, "belongs to what calibra %s wrote there; name another file", data.Printable(group))
		}
	}
	return nil
}

// plain reports whether name is a file with no link on its way.
func (d inside) plain(name string) bool {
	info, err := d.Lstat(name)
	return err == nil && info.Mode().IsRegular() && d.unlinked(filepath.Dir(name))
}

// unlinked reports whether dir and those above it are directories and no links, as far as they are there.
func (d inside) unlinked(dir string) bool {
	for ; dir != "."; dir = filepath.Dir(dir) {
		if info, err := d.Lstat(dir); !errors.Is(err, fs.ErrNotExist) && (err != nil || !info.IsDir()) {
			return false
		}
	}
	return true
}
