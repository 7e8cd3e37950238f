package disk

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
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

// Folder writes files that belong together into one directory, all or none of them: they
// are made in a directory of their own inside it, and take their places when all are
// whole. manifest.json, beside them, has their digests, so that a reader that takes
// [Hold] never takes files of two runs for one. Of a process that is killed while they
// take their places, a reader finds the rest where it was made, and the next that writes
// there finishes it. Nothing outside the directory is changed, whatever links it holds.
//
// Two that write into one directory at once leave the files of the later one.
type Folder struct {
	dir    string
	group  string
	root   *os.Root // dir, nil before the first file
	disk   Disk
	stage  string   // the directory that they are made in, below dir
	lock   *os.File // of the stage
	files  map[string]string
	absent []string
	failed error // the first
}

// stageBase is NAME in the name of a directory that files are made in.
const stageBase = "calibra"

// NewFolder is a set of files for dir, which is made with the first of them. The group
// names those that replace each other: what an earlier set of the group had and this one
// has not is removed with [Folder.Commit].
func NewFolder(dir, group string) *Folder {
	return &Folder{dir: dir, group: group, files: map[string]string{}}
}

// WriteFile adds the file name, which may be in a directory below, with what write writes.
// A directory that cannot be written to is a *data.InputError. The first error stays: nothing is written after it, and
// [Folder.Commit] returns it too.
func (f *Folder) WriteFile(name string, write func(io.Writer) error) error {
	if f.failed == nil {
		f.failed = f.write(name, write)
	}
	return f.failed
}

// Fail is an error of what was to be written.
func (f *Folder) Fail(err error) { f.failed = cmp.Or(f.failed, err) }

func (f *Folder) write(name string, write func(io.Writer) error) error {
	path := filepath.Join(f.dir, name)
	if err := CheckFile(path); err != nil {
		return err
	}
	if err := f.open(); err != nil {
		return err
	}
	made := filepath.Join(f.stage, name)
	if err := f.disk.MkdirAll(filepath.Dir(made)); err != nil {
		return cannotWrite(path, err)
	}
	if err := f.disk.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) { // an earlier one of that name
		return cannotWrite(path, err)
	}
	out, err := f.disk.Create(made)
	if err != nil {
		return cannotWrite(path, err)
	}
	defer out.Close()
	h := sha256.New()
	if err := fill(out, io.MultiWriter(out, h), write); err != nil {
		return notWritten(path, made, err)
	}
	f.files[filepath.ToSlash(name)] = hex.EncodeToString(h.Sum(nil))
	return nil
}

// WriteBytes is [Folder.WriteFile] of content.
func (f *Folder) WriteBytes(name string, content []byte) error {
	return f.WriteFile(name, writing(content))
}

// open makes the directory of the unfinished files, after it has finished what killed
// processes left.
func (f *Folder) open() (err error) {
	if f.root != nil {
		return nil
	}
	if err := MkdirAll(f.dir); err != nil {
		return f.cannot("made", err)
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return f.cannot("opened", err)
	}
	f.root, f.disk = root, changed(f.dir, rooted{root})
	defer func() {
		if err != nil { // a directory that cannot be used
			f.root.Close()
			f.root, f.stage = nil, ""
		}
	}()
	if len(leftovers(root, isStage)) > 0 { // which settle finishes and removes; what cannot be removed stays
		_, lock, err := f.settle()
		if err != nil {
			return err
		}
		lock.Close()
	}
	for n := range 1000 {
		f.stage = temporary(stageBase, n)
		if err = f.disk.Mkdir(f.stage); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err == nil {
		if f.lock, err = root.Open(f.stage); err == nil {
			tryLock(f.lock, true)
			return nil
		}
		f.disk.Remove(f.stage)
	}
	return f.cannot("written to", err)
}

// cannot is the error of the directory itself.
func (f *Folder) cannot(be string, err error) error {
	if full(err) {
		return cannotWrite(f.dir, err)
	}
	return data.Inputf("", "the output directory %s cannot be %s: %w", f.dir, be, data.Cause(err))
}

// settle locks the folder, which the caller closes, and finishes what killed processes left;
// the manifest is as that leaves it.
func (f *Folder) settle() (m *manifest, lock *os.File, err error) {
	if lock, err = lockFolder(f.dir, f.root, true); err != nil {
		return nil, nil, err
	}
	if m, err = readManifest(f.dir, f.root); err != nil {
		lock.Close()
		return nil, nil, err
	}
	m.settle(f.root, f.disk, leftovers(f.root, isStage))
	return m, lock, nil
}

// PrepareFolder makes sure that the named files of a group can be written into dir, which
// is made, and clears what killed processes left of them there. It returns a *data.InputError
// if one of them is there as another group's.
func PrepareFolder(dir, group string, names ...string) error {
	f := NewFolder(dir, group)
	defer f.Discard()
	if err := f.open(); err != nil {
		return err
	}
	for _, name := range names {
		if err := CheckFile(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	sweep(f.root, f.disk, func(base string) bool { return base == manifestName || slices.Contains(names, base) })
	m, err := readManifest(dir, f.root)
	if err != nil {
		return err
	}
	files := map[string]string{}
	for _, name := range names {
		files[name] = ""
	}
	return m.foreign(dir, group, files)
}

// Absent records that names belong to the group, and that this set has no such files.
func (f *Folder) Absent(names ...string) { f.absent = append(f.absent, names...) }

// Commit puts the files in their places. A file that is another group's is a *data.InputError,
// and nothing has been changed. Where one cannot be put there, readers find it where it was
// made, until the next that writes there finishes.
func (f *Folder) Commit() error {
	defer f.Discard()
	if f.failed != nil {
		return f.failed
	}
	if err := f.open(); err != nil {
		return err
	}
	m, lock, err := f.settle()
	if err != nil {
		return err
	}
	defer lock.Close()
	group, err := f.claim(m)
	if err != nil {
		return err
	}
	made := map[string]bool{".": true, f.stage: true}
	for name := range f.files {
		made[filepath.Join(f.stage, filepath.Dir(name))] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(made)) {
		f.disk.Sync(dir)
	}
	if err := m.write(f.dir, f.root, f.disk); err != nil {
		return err
	}
	stage := f.stage // from here on the new files are the folder's
	f.leave()
	if err := place(f.disk, stage, group); err != nil {
		return fmt.Errorf("data: write %s: %w", f.dir, data.Cause(err))
	}
	_ = f.disk.RemoveAll(stage)
	f.disk.Sync(".")
	return nil
}

// claim makes the files the group's in the manifest: their digests, and "" of those that are to
// be there no more. It returns a *data.InputError where one is another group's or cannot be placed.
func (f *Folder) claim(m *manifest) (group map[string]string, err error) {
	group = map[string]string{}
	for name := range m.Groups[f.group] {
		if unlinked(f.root, filepath.Dir(filepath.FromSlash(name))) {
			group[name] = ""
		}
	}
	for _, name := range f.absent {
		group[name] = ""
	}
	maps.Copy(group, f.files)
	if err := m.foreign(f.dir, f.group, group); err != nil {
		return nil, err
	}
	for name := range f.files {
		if below := filepath.Dir(filepath.FromSlash(name)); !unlinked(f.root, below) {
			return nil, data.Inputf(filepath.Join(f.dir, below), "is a link or a file; move it away, or name another directory")
		}
	}
	for _, other := range m.Groups {
		for name := range f.files {
			delete(other, name) // was not to be there, or is gone
		}
	}
	m.Groups[f.group] = group
	return group, nil
}

// Discard removes what was made and not committed. A second time it does nothing.
func (f *Folder) Discard() {
	if f.stage != "" {
		_ = f.disk.RemoveAll(f.stage)
	}
	f.leave()
	if f.root != nil {
		f.root.Close()
		f.root = nil
	}
	f.failed = nil
}

// leave gives the directory of the unfinished files up, as it is.
func (f *Folder) leave() {
	if f.stage != "" {
		f.lock.Close()
		f.stage = ""
	}
}
