package data

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// manifestName is the file that tells which files of a directory belong together.
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

func readManifest(dir string) (*manifest, error) {
	path := filepath.Join(dir, manifestName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &manifest{manifestFormat, map[string]map[string]string{}}, nil
	}
	if err != nil {
		return nil, Inputf(path, "cannot be read: %w", err)
	}
	m := &manifest{}
	if err := json.Unmarshal(text, m); err != nil || m.Format != manifestFormat || m.Groups == nil {
		return nil, Inputf(path, "%w; move it away", errForeign)
	}
	for _, group := range m.Groups {
		for name := range group {
			if !filepath.IsLocal(name) {
				return nil, Inputf(path, "tells of %.40q, which is no file beside it; move it away", name)
			}
		}
	}
	return m, nil
}

func (m *manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("data: write %s: %w", manifestName, err)
	}
	return WriteBytes(filepath.Join(dir, manifestName), append(text, '\n'))
}

// foreign returns an *InputError if a file of the new group is there as another group's.
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
				return Inputf(dir, "holds %s of calibra %s; name another directory", name, other)
			}
		}
	}
	return nil
}

// settle finishes what killed processes began, whose directories of unfinished files are
// the given ones, and removes those. What cannot be finished, a reader will find.
func (m *manifest) settle(dir string, stages []string) {
	for _, stage := range stages {
		for _, group := range m.Groups {
			for name, digest := range group {
				if have, err := Digest(filepath.Join(stage, name)); digest == "" || err == nil && have == digest {
					_ = place(dir, stage, name, digest)
				}
			}
		}
		os.RemoveAll(stage)
	}
}

// place moves the file name of that digest from stage to dir, or removes it from dir.
func place(dir, stage, name, digest string) error {
	to := filepath.Join(dir, name)
	if digest == "" {
		err := os.Remove(to)
		if _, gone := os.Lstat(to); gone != nil {
			return nil
		}
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return move(filepath.Join(stage, name), to)
}

// differs is the first file of the group that is another than the manifest tells, "" if
// none is. One that is missing is no mixture, and one that is there since is nobody's.
func (m *manifest) differs(dir, group string) string {
	for name, digest := range m.Groups[group] {
		if digest == "" {
			continue
		}
		if have, err := Digest(filepath.Join(dir, name)); err == nil && have != digest {
			return name
		}
	}
	return ""
}

// isStage tells the name of a directory of unfinished files.
func isStage(base string) bool { return base == stageBase }

// Clear finishes and removes what killed processes left of folders that they wrote into
// dir; see [Folder]. What cannot be removed stays.
func Clear(dir string) {
	if len(leftovers(dir, isStage)) == 0 {
		return
	}
	lock, err := lockFolder(dir, true)
	if err != nil {
		return
	}
	defer lock.Close()
	if m, err := readManifest(dir); err == nil {
		m.settle(dir, leftovers(dir, isStage))
	}
}

// CheckAlone returns an *InputError if the file at path was written as one of a [Folder],
// whose other files would be another run's if it were written over.
func CheckAlone(path string) error {
	m, err := readManifest(filepath.Dir(path))
	if err != nil {
		return nil // somebody else's
	}
	for group, files := range m.Groups {
		if files[filepath.Base(path)] != "" {
			return Inputf(path, "belongs to what calibra %s wrote there; name another file", group)
		}
	}
	return nil
}

// Hold keeps the files beside each of the paths as they are, where they were written as a
// [Folder], until release is called; who reads several of them holds them meanwhile. It
// returns an *InputError if they are not of one run. Files that were not written as a
// folder are nobody's to hold.
func Hold(paths ...string) (release func(), err error) {
	var locks []*os.File
	release = func() {
		for _, lock := range locks {
			lock.Close()
		}
	}
	seen := map[string]bool{}
	for _, path := range paths {
		dir := filepath.Dir(path)
		if _, err := os.Stat(filepath.Join(dir, manifestName)); err != nil || seen[dir] {
			continue
		}
		Clear(dir)
		lock, err := lockFolder(dir, false)
		if err != nil {
			release()
			return nil, err
		}
		locks, seen[dir] = append(locks, lock), true
		m, err := readManifest(dir)
		if errors.Is(err, errForeign) {
			continue // and no folder of ours
		}
		if err != nil {
			release()
			return nil, err
		}
		for group, files := range m.Groups {
			if _, ours := files[filepath.Base(path)]; !ours {
				continue
			}
			if name := m.differs(dir, group); name != "" {
				release()
				return nil, Inputf(dir, "holds files of different runs: %s is not the one that calibra %s wrote with the others; run it again", name, group)
			}
		}
	}
	return release, nil
}

// A folder is written in a moment and may be read for minutes.
const (
	writeWait = time.Minute
	readWait  = 10 * time.Minute
)

// lockFolder takes the lock of dir, which the closing of the file gives back.
func lockFolder(dir string, alone bool) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, Inputf(dir, "cannot be opened: %w", err)
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
