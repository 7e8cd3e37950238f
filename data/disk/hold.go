package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"calibra/data"
)

// Held are files that stay as they are until they are released.
type Held struct {
	folders []heldFolder
}

// heldFolder is a directory whose lock is held. Of each file that a killed process did not
// put into its place, made is where it is.
type heldFolder struct {
	dir  string
	lock *os.File
	made map[string]string
}

// Hold keeps the files beside each of the paths as they are, where they were written as a
// [Folder], until Release is called; who reads several of them holds them meanwhile and
// reads them at [Held.Path]. Nothing is written. It returns a *data.InputError if they
// are not of one run. Files that were not written as a folder are nobody's to hold.
func Hold(paths ...string) (*Held, error) {
	h := &Held{}
	for _, path := range paths {
		if err := h.hold(filepath.Dir(path)); err != nil {
			h.Release()
			return nil, err
		}
	}
	return h, nil
}

func (h *Held) hold(dir string) error {
	if slices.ContainsFunc(h.folders, func(f heldFolder) bool { return f.dir == dir }) {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil // whoever reads there meets the error
	}
	defer root.Close()
	if _, err := root.Lstat(manifestName); err != nil {
		return nil
	}
	lock, err := lockFolder(dir, root, false)
	if err != nil {
		return err
	}
	f := heldFolder{dir: dir, lock: lock, made: map[string]string{}}
	h.folders = append(h.folders, f)
	m, err := readManifest(dir, root)
	if errors.Is(err, errForeign) {
		return nil // and no folder of ours
	}
	if err != nil {
		return err
	}
	for name, group := range m.Groups {
		if err := f.find(root, name, group); err != nil {
			return err
		}
	}
	return nil
}

// find finds where the files of a group are. One that is missing is no mixture, and neither
// is one that is there since the manifest said that there is none, or a link.
func (f heldFolder) find(root *os.Root, group string, files map[string]string) error {
	have := map[string]string{}
	for name, digest := range files {
		if digest != "" {
			have[name] = digestIn(root, name)
		}
	}
	for _, stage := range temporaries(root, isStage) {
		for name, digest := range unplaced(root, stage, files, have) {
			f.made[name], have[name] = filepath.Join(f.dir, stage, name), digest
		}
	}
	for name, digest := range files {
		if have[name] != "" && have[name] != digest {
			return data.Inputf(f.dir, "holds files of different runs: %s is not the one that calibra %s wrote with the others; run it again", data.Printable(name), data.Printable(group))
		}
	}
	return nil
}

// Path is where the file at path is to be read, which is path unless a process was killed
// before it put the file there.
func (h *Held) Path(path string) string {
	for _, f := range h.folders {
		if name, err := filepath.Rel(f.dir, path); err == nil && f.made[filepath.ToSlash(name)] != "" {
			return f.made[filepath.ToSlash(name)]
		}
	}
	return path
}

// Release lets others write the files. A second time it does nothing.
func (h *Held) Release() {
	for _, f := range h.folders {
		f.lock.Close()
	}
	h.folders = nil
}

// A folder is written in a moment and may be read for minutes.
const (
	writeWait = time.Minute
	readWait  = 10 * time.Minute
)

// lockFolder takes the lock of dir, which the closing of the file gives back.
func lockFolder(dir string, root *os.Root, alone bool) (*os.File, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, data.Inputf(dir, "cannot be opened: %w", err)
	}
	wait := writeWait
	if alone {
		wait = readWait
	}
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		if ok, _ := tryLock(f, alone); ok {
			return f, nil
		}
		if time.Since(began) > wait {
			f.Close()
			return nil, fmt.Errorf("data: another command has been reading or writing %s for %v; try again when it is done", dir, wait)
		}
	}
}
