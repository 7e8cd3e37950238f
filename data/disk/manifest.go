package disk

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"calibra/data"
)

// manifestName is the file that records which files of a directory belong together.
const manifestName = "manifest.json"

// manifest is that file: of each group its files with their SHA-256 in hexadecimal digits,
// "" of a file that is not to be there. A directory without one, as other programs and
// older versions leave it, has no groups.
type manifest struct {
	Format string                       `json:"format"`
	Groups map[string]map[string]string `json:"groups"`
}

const manifestFormat = "calibra folder 1"

// errForeign is of a file of that name which is somebody else's.
var errForeign = errors.New("is no manifest that this program wrote")

// readManifest reads that of the directory dir, which is open as root.
func readManifest(dir string, root *os.Root) (*manifest, error) {
	path := filepath.Join(dir, manifestName)
	text, err := data.ReadPlain(root, manifestName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &manifest{manifestFormat, map[string]map[string]string{}}, nil
	case err != nil:
		return nil, err
	}
	m := &manifest{}
	if err := json.Unmarshal(text, m); err != nil || m.Format != manifestFormat || m.Groups == nil {
		return nil, data.Inputf(path, "%w; move it away", errForeign)
	}
	for _, group := range m.Groups {
		for name := range group {
			if !fs.ValidPath(name) || !filepath.IsLocal(name) || name == "." || name == manifestName {
				return nil, data.Inputf(path, "tells of %.40q, which is no file beside it; move it away", name)
			}
		}
	}
	return m, nil
}

func (m *manifest) write(dir string, root *os.Root, disk Disk) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("data: write %s: %w", manifestName, err)
	}
	sweep(root, disk, func(base string) bool { return base == manifestName })
	return replace(disk, filepath.Join(dir, manifestName), manifestName, writing(append(text, '\n')))
}

// foreign returns a *data.InputError if a file of the new group is there as another group's.
func (m *manifest) foreign(dir, group string, files map[string]string) error {
	for other, theirs := range m.Groups {
		if other == group {
			continue
		}
		for name := range files {
			if theirs[name] == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return data.Inputf(dir, "holds %s of calibra %s; name another directory", data.Printable(name), data.Printable(other))
			}
		}
	}
	return nil
}

// digestIn is the digest of a file below root that no link leads to, "" if there is none.
func digestIn(root *os.Root, name string) string {
	if !plain(root, name) {
		return ""
	}
	f, err := data.OpenIn(root, name)
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

// unplaced are the files of the group that stage holds and that are to take their places still, and
// with them, as "", those that are not to be there; nil where it holds none. have are the digests of
// those that are there.
func unplaced(root *os.Root, stage string, group, have map[string]string) map[string]string {
	left, waiting := map[string]string{}, false
	for name, digest := range group {
		waits := digest != "" && have[name] != digest && digestIn(root, filepath.Join(stage, name)) == digest
		if waiting = waiting || waits; waits || digest == "" {
			left[name] = digest
		}
	}
	if !waiting {
		return nil
	}
	return left
}

// settle finishes what killed processes began, whose directories of unfinished files are
// the given ones, and removes those. What cannot be finished, a reader will find.
func (m *manifest) settle(root *os.Root, disk Disk, stages []string) {
	for _, stage := range stages {
		for _, group := range m.Groups {
			have := map[string]string{}
			for name := range group {
				have[name] = digestIn(root, name)
			}
			left := unplaced(root, stage, group, have)
			maps.DeleteFunc(left, func(name, _ string) bool { return !plain(root, name) })
			_ = place(disk, stage, left)
		}
		_ = disk.RemoveAll(stage)
	}
}

// place puts the files of a group from stage into their places. It begins with those that
// are not to be there: as long as one is, no new file is in its place (see [Held.Path]).
func place(disk Disk, stage string, group map[string]string) error {
	names := slices.SortedFunc(maps.Keys(group), func(a, b string) int {
		return cmp.Or(cmp.Compare(min(1, len(group[a])), min(1, len(group[b]))), cmp.Compare(a, b))
	})
	for _, name := range names {
		if group[name] == "" {
			if err := disk.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if below := filepath.Dir(name); below != "." {
			if err := disk.MkdirAll(below); err != nil {
				return err
			}
		}
		if err := disk.Rename(filepath.Join(stage, name), name); err != nil {
			return err
		}
	}
	return nil
}

// isStage reports whether base is the name of a directory of unfinished files.
func isStage(base string) bool { return base == stageBase }

// CheckAlone returns a *data.InputError if the file at path was written as one of a [Folder],
// whose other files would be another run's if it were written over.
func CheckAlone(path string) error {
	dir := filepath.Dir(path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	m, err := readManifest(dir, root)
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

// plain reports whether name lies below root with no link on its way: in directories, as a
// file or not at all.
func plain(root *os.Root, name string) bool {
	info, err := root.Lstat(filepath.FromSlash(name))
	return (errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular()) && unlinked(root, filepath.Dir(filepath.FromSlash(name)))
}

// unlinked reports whether dir and those above it, up to root, are directories and no links,
// as far as they are there.
func unlinked(root *os.Root, dir string) bool {
	for ; dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); !errors.Is(err, fs.ErrNotExist) && (err != nil || !info.IsDir()) {
			return false
		}
	}
	return true
}
