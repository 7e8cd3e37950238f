package data

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Folder writes files that belong together into one directory, all or none of them: they
// are made in a directory of their own inside it, and take their places when all are
// whole. manifest.json, beside them, tells their digests, so that a reader that takes
// [Hold] first never takes files of two runs for one. A process that is killed while
// they take their places leaves that to the next that reads or writes there.
//
// Two that write into one directory at once leave the files of the later one.
type Folder struct {
	dir    string
	group  string
	stage  *os.File // the directory that they are made in, locked; nil before the first
	files  map[string]string
	absent []string
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
// A directory that cannot be written to is an *InputError.
func (f *Folder) WriteFile(name string, write func(io.Writer) error) error {
	path := filepath.Join(f.dir, name)
	if err := CheckFile(path); err != nil {
		return err
	}
	if err := f.open(); err != nil {
		return err
	}
	made := filepath.Join(f.stage.Name(), name)
	if err := os.MkdirAll(filepath.Dir(made), 0o777); err != nil {
		return cannotWrite(path, err)
	}
	out, err := os.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return cannotWrite(path, err)
	}
	defer out.Close()
	h := sha256.New()
	buf := bufio.NewWriterSize(io.MultiWriter(out, h), 1<<18)
	for _, step := range []func() error{func() error { return write(buf) }, buf.Flush, out.Sync, out.Close} {
		if err := step(); err != nil {
			return notWritten(path, made, err)
		}
	}
	f.files[filepath.ToSlash(name)] = hex.EncodeToString(h.Sum(nil))
	return nil
}

// WriteBytes is [Folder.WriteFile] of content.
func (f *Folder) WriteBytes(name string, content []byte) error {
	return f.WriteFile(name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// open makes the directory of the unfinished files.
func (f *Folder) open() error {
	if f.stage != nil {
		return nil
	}
	if err := os.MkdirAll(f.dir, 0o777); err != nil && full(err) {
		return cannotWrite(f.dir, err)
	} else if err != nil {
		return Inputf("", "the output directory %s cannot be made: %w", f.dir, cause(err))
	}
	Clear(f.dir)
	var err error
	for n := range 1000 {
		path := temporary(f.dir, stageBase, n)
		if err = os.Mkdir(path, 0o777); errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			if f.stage, err = os.Open(path); err == nil {
				tryLock(f.stage, true)
				return nil
			}
			os.Remove(path)
		}
		break
	}
	if full(err) {
		return cannotWrite(f.dir, err)
	}
	return Inputf("", "the output directory %s cannot be written to: %w", f.dir, cause(err))
}

// PrepareFolder makes sure that the named files of a group can be written into dir, which
// is made, and clears what killed processes left of them there. It returns an *InputError
// if one of them is there as another group's.
func PrepareFolder(dir, group string, names ...string) error {
	f := NewFolder(dir, group)
	defer f.Discard()
	if err := f.open(); err != nil {
		return err
	}
	below := map[string]bool{}
	for _, name := range names {
		if err := CheckFile(filepath.Join(dir, name)); err != nil {
			return err
		}
		below[filepath.Dir(name)] = true
	}
	for at := range below {
		Sweep(filepath.Join(dir, at), func(base string) bool {
			return base == manifestName || slices.Contains(names, filepath.Join(at, base))
		})
	}
	probes, _ := filepath.Glob(filepath.Join(dir, ".probe-[0-9]*")) // of version 0.1
	for _, probe := range probes {
		if info, err := os.Lstat(probe); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			os.Remove(probe)
		}
	}
	m, err := readManifest(dir)
	if err != nil {
		return err
	}
	files := map[string]string{}
	for _, name := range names {
		files[name] = ""
	}
	return m.foreign(dir, group, files)
}

// Absent says that names belong to the group, and that this set has no such files.
func (f *Folder) Absent(names ...string) { f.absent = append(f.absent, names...) }

// Commit puts the files in their places. A file that is another group's is an *InputError,
// and nothing has been changed.
func (f *Folder) Commit() error {
	defer f.Discard()
	if err := f.open(); err != nil {
		return err
	}
	lock, err := lockFolder(f.dir, true)
	if err != nil {
		return err
	}
	defer lock.Close()
	m, err := readManifest(f.dir)
	if err != nil {
		return err
	}
	m.settle(f.dir, leftovers(f.dir, isStage))
	group := map[string]string{}
	for name := range m.Groups[f.group] {
		group[name] = ""
	}
	for _, name := range f.absent {
		group[name] = ""
	}
	for name, digest := range f.files {
		group[name] = digest
	}
	if err := m.foreign(f.dir, f.group, group); err != nil {
		return err
	}
	for _, other := range m.Groups {
		for name := range f.files {
			delete(other, name) // was not to be there, or is gone
		}
	}
	m.Groups[f.group] = group
	if err := m.write(f.dir); err != nil { // from here on the new files are the folder's
		return err
	}
	for name, digest := range group {
		if err := place(f.dir, f.stage.Name(), name, digest); err != nil {
			return fmt.Errorf("data: write %s: %w", filepath.Join(f.dir, name), cause(err))
		}
	}
	return syncDir(f.dir)
}

// Discard removes what was made and not committed. A second time it does nothing.
func (f *Folder) Discard() {
	if f.stage != nil {
		os.RemoveAll(f.stage.Name())
		f.stage.Close()
		f.stage = nil
	}
}

// move is os.Rename that copies where the two are on different disks.
func move(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return WriteFile(to, func(w io.Writer) error { _, err := io.Copy(w, in); return err })
}
