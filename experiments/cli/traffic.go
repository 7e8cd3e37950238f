package cli

import (
	"os"
	"path/filepath"
	"slices"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/run"
	"calibra/layers/encoders"

	"github.com/alecthomas/kong"
)

// traffic is what a command reads and what it writes, files by their paths.
type traffic struct {
	reads  []string
	files  []string // that it writes by themselves
	folder folder   // that it writes as one, prepared before it begins
	drawn  folder   // of figures by themselves
}

// folder is a disk.Folder, none where dir is "".
type folder struct {
	dir, group string
	names      []string
}

// readTypes are the types of flags that name what is read. A path that is written is an "output".
var readTypes = []string{"path", "paths", "input", "model", "predictions", "priors", "rows"}

// trafficOf finds what a command reads by its flags. Its methods files and folder say what it writes.
func trafficOf(command *kong.Node) (t traffic) {
	for _, flag := range command.Flags {
		if !slices.Contains(readTypes, flag.Tag.Type) {
			continue
		}
		if path, one := flag.Target.Interface().(string); one {
			t.reads = append(t.reads, filesAt(path)...)
			continue
		}
		for _, path := range flag.Target.Interface().([]string) {
			t.reads = append(t.reads, filesAt(path)...)
		}
	}
	c := command.Target.Addr().Interface()
	if c, ok := c.(interface{ settingFiles() []string }); ok {
		t.reads = append(t.reads, c.settingFiles()...)
	}
	if c, ok := c.(interface{ beside() string }); ok {
		t.reads = append(t.reads, c.beside())
	}
	if c, ok := c.(interface{ files() []string }); ok {
		t.files = c.files()
	}
	if c, ok := c.(interface{ folder() folder }); ok {
		t.folder = c.folder()
	}
	if c, ok := c.(interface{ drawn() folder }); ok {
		t.drawn = c.drawn()
	}
	return t
}

// filesAt is the file at path or, of a directory, what a fit or a training writes there, and its tables of raw rows;
// none of "".
func filesAt(path string) (paths []string) {
	if path == "" {
		return nil
	}
	if !isDir(path) {
		return []string{path}
	}
	for _, pattern := range []string{"*cal*.csv", "*test*.csv", "shifts_canonical_*.csv"} {
		found, _ := filepath.Glob(filepath.Join(path, pattern))
		paths = append(paths, found...)
	}
	return append(paths, folder{dir: path, names: slices.Concat(run.Files, encoders.Files)}.paths()...)
}

// paths are those of the folder's files and of their manifest.
func (f folder) paths() []string {
	if f.dir == "" {
		return nil
	}
	names := append(slices.Clone(f.names), "manifest.json")
	return data.Each(names, func(name string) string { return filepath.Join(f.dir, name) })
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// apart returns an *InputError if the command would write over a file that it reads, under
// whatever name; or over one that belongs to a folder, if it writes single files; or if
// what it reads is of two runs (see [disk.Hold]).
func (t traffic) apart() error {
	for _, out := range slices.Concat(t.folder.paths(), t.drawn.paths(), t.files) {
		written, err := os.Stat(out)
		if err != nil {
			continue // nothing to be lost
		}
		for _, in := range t.reads {
			if read, err := os.Stat(in); err == nil && os.SameFile(read, written) {
				if in != out {
					return data.Inputf(out, "is the file that is read as %s; name another place to be written", in)
				}
				return data.Inputf(out, "is the file that is read; name another place to be written")
			}
		}
		if slices.Contains(t.files, out) {
			if err := disk.CheckAlone(out); err != nil {
				return err
			}
		}
	}
	held, err := disk.Hold(t.reads...)
	if err != nil {
		return err
	}
	held.Release()
	return nil
}

// prepare holds what a command reads and writes apart, and makes sure that its folders can be
// written (see [run.PrepareDir]).
func (t traffic) prepare() (undo func(), err error) {
	if err := t.apart(); err != nil {
		return nil, data.Inputf("", "%w", err)
	}
	undo = func() {}
	for _, f := range []folder{t.folder, {dir: t.drawn.dir}} {
		if f.dir == "" {
			continue
		}
		before := undo
		if info, err := os.Stat(f.dir); err == nil && !info.IsDir() {
			before()
			return nil, data.Inputf(f.dir, "is a file; name a directory")
		}
		after, err := run.PrepareDir(f.dir, f.group, f.names...)
		if err != nil {
			before()
			return nil, err
		}
		undo = func() { after(); before() }
	}
	return undo, nil
}
