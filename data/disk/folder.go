package disk

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"calibra/data"
)

// Folder writes files that belong together into one directory, all or none of them: they are made in a directory of
// their own inside it, [Folder.Commit] gives that the name .calibra.pending, and then each takes its place. Until all
// have, a reader finds the rest in .calibra.pending (see [Hold]), and the next that writes there finishes it.
// manifest.json, beside the files, has their digests. Nothing outside the directory is changed, whatever links it
// holds.
//
// Two that write into one directory at once leave the files of the later one.
type Folder struct {
	dir, group string
	inside            // dir, none before the first file
	stage      string // the directory that they are made in, below dir
	lock       *os.File
	files      map[string]string
	failed     error // the first
}

// stageBase is NAME in the name of a directory that files are made in.
const stageBase = "calibra"

// NewFolder is a set of files for dir, which is made with the first file. Sets of one group
// replace each other: [Folder.Commit] removes the files that an earlier set of the group had
// and this set has not.
func NewFolder(dir, group string) *Folder {
	return &Folder{dir: dir, group: group, files: map[string]string{}}
}

// WriteFile adds the file name, which may be in a directory below, with what write writes.
// A directory that cannot be written to is a *data.InputError. The first error stays: nothing is written after it, and
// [Folder.Commit] returns it too.
func (f *Folder) WriteFile(name string, write func(io.Writer) error) error {
	path, h := filepath.Join(f.dir, name), sha256.New()
	for _, step := range []func() error{
		func() error { return CheckFile(path) },
		f.open,
		func() error { return f.mkdir(filepath.Join(f.stage, filepath.Dir(name))) },
		func() error { return f.remove(filepath.Join(f.stage, name)) }, // an earlier one of that name
		func() error {
			return f.inside.write(path, filepath.Join(f.stage, name), func(w io.Writer) error { return write(io.MultiWriter(w, h)) })
		},
	} {
		if f.failed == nil {
			f.failed = step()
		}
	}
	f.files[filepath.ToSlash(name)] = hex.EncodeToString(h.Sum(nil))
	return f.failed
}

// WriteBytes is [Folder.WriteFile] of content.
func (f *Folder) WriteBytes(name string, content []byte) error {
	return f.WriteFile(name, writing(content))
}

// Fail is an error of what was to be written.
func (f *Folder) Fail(err error) { f.failed = cmp.Or(f.failed, err) }

// Absent records that names belong to the group, and that this set has no such files.
func (f *Folder) Absent(names ...string) {
	for _, name := range names {
		f.files[name] = ""
	}
}

// open makes the stage, after it has finished and cleared what killed processes left.
func (f *Folder) open() error {
	if f.stage != "" {
		return nil
	}
	if err := MkdirAll(f.dir); err != nil {
		return f.cannot("made", err)
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return f.cannot("opened", err)
	}
	f.inside = inside{root}
	f.sweep(func(base string) bool { return base == stageBase })
	if _, err := f.Lstat(pending); err == nil {
		lock, err := f.hold(true)
		if err != nil {
			return err
		}
		defer lock.Close()
		if err := f.place(); err != nil {
			return err
		}
	}
	stage := temporary(stageBase)
	if err := f.mkdir(stage); err != nil {
		return f.cannot("written to", err)
	}
	f.stage = stage
	if f.lock, err = f.Open(stage); err != nil {
		return f.cannot("written to", err)
	}
	tryLock(f.lock, true)
	return nil
}

// cannot is the error of the directory itself.
func (f *Folder) cannot(be string, err error) error {
	return data.Inputf("", "the output directory %s cannot be %s: %w", f.dir, be, data.Cause(err))
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
	f.Absent(names...)
	_, err := f.claim(group, f.files)
	return err
}

// Commit puts the files in their places. A file that is another group's is a *data.InputError,
// and nothing has been changed.
func (f *Folder) Commit() error {
	defer f.Discard()
	f.Fail(f.open())
	if f.failed != nil {
		return f.failed
	}
	lock, err := f.hold(true)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := f.place(); err != nil { // what another left meanwhile
		return err
	}
	manifest, err := f.claim(f.group, f.files)
	if err != nil {
		return err
	}
	if err := f.inside.write(filepath.Join(f.dir, manifestName), filepath.Join(f.stage, manifestName), writing(manifest)); err != nil {
		return err
	}
	made := map[string]bool{f.stage: true}
	for name := range f.files {
		made[filepath.Join(f.stage, filepath.Dir(name))] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(made)) {
		f.sync(dir)
	}
	if err := f.rename(f.stage, pending); err != nil {
		return f.cannot("written to", err)
	}
	f.stage = "" // the new files are the folder's
	f.sync(".")
	return f.place()
}

// Discard removes what was made and not committed. A second time it does nothing.
func (f *Folder) Discard() {
	if f.stage != "" {
		_ = f.remove(f.stage)
	}
	f.lock.Close() // of none an error
	if f.Root != nil {
		f.Root.Close()
	}
	f.inside, f.lock, f.stage, f.failed = inside{}, nil, "", nil
}
