package cli

import (
	"os"
	"path/filepath"
	"slices"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/study"
	"calibra/layers/encoders"
	"calibra/theory"
)

// traffic is what a command reads and what it writes, files by their paths; "" is none. A
// new command that takes paths has its method traffic, which a test requires.
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

func (c *quickstartCmd) traffic() traffic {
	return traffic{folder: folder{c.Out, run.Group, append(quickFiles, run.Files...)}}
}

func (c *pretrainCmd) traffic() traffic {
	return traffic{reads: append(rows(c.Data), c.Weights), folder: folder{c.Out, encoders.Group, encoders.Files}}
}

func (c *encodeCmd) traffic() traffic {
	network := folder{dir: c.Model, names: encoders.Files}.paths()
	return traffic{reads: append(rows(c.Data), network...), files: []string{c.Out, shiftedPath(c.Out)}}
}

func (c *newCmd) traffic() traffic {
	return traffic{reads: folder{dir: c.Clone, names: []string{"go.mod", "go.sum"}}.paths(), files: []string{filepath.Join(c.Dir, "go.mod"), filepath.Join(c.Dir, "go.sum")}}
}

func (c *fitCmd) traffic() traffic {
	return traffic{reads: []string{c.In}, files: []string{c.ONNX}, folder: folder{c.Out, run.Group, run.Files}, drawn: c.figureFlags.folder()}
}

func (c *applyCmd) traffic() traffic {
	return traffic{reads: append(model(c.Model), c.In, c.priorsFile()), files: []string{c.Out}}
}

func (c *exportCmd) traffic() traffic {
	return traffic{reads: model(c.Model), files: []string{c.ONNX}}
}

func (c *diagnoseCmd) traffic() traffic {
	return traffic{reads: []string{c.In, c.Features}, folder: folder{c.Out, diagnosisGroup, diagnosisFiles}, drawn: c.figureFlags.folder()}
}

func (c *evaluateCmd) traffic() traffic {
	beside := filepath.Join(filepath.Dir(c.In), "metrics.json")
	return traffic{reads: []string{c.In, beside, c.Features}, files: []string{c.page()}, drawn: c.figureFlags.folder()}
}

func (c *studyCmd) traffic() traffic {
	reads := []string{c.Shifted}
	for _, arg := range c.Data {
		reads = append(reads, rows(arg)...)
	}
	drawn := c.figureFlags.folder()
	switch s, err := study.ByName(c.Name); {
	case c.List || c.DryRun || c.part(): // no report
		return traffic{reads: reads}
	case err == nil:
		return traffic{reads: reads, folder: folder{c.Out, s.Group(), s.FileNames()}, drawn: drawn}
	}
	return traffic{reads: reads, folder: folder{c.Out, study.Group, (&study.Study{}).FileNames()}, drawn: drawn}
}

func (c *compareCmd) traffic() traffic {
	reads := []string{c.In}
	for _, dir := range c.Runs {
		reads = append(reads, folder{dir: dir, names: study.FinishedFiles}.paths()...)
	}
	return traffic{reads: reads, folder: folder{c.Out, study.Compare.Group(), study.Compare.FileNames()}, drawn: c.figureFlags.folder()}
}

func (c *theoryCmd) traffic() traffic {
	return traffic{folder: folder{c.Out, theory.Group, report.Files}, drawn: c.figureFlags.folder()}
}

// paths are those of the folder's files and of their manifest.
func (f folder) paths() []string {
	if f.dir == "" {
		return nil
	}
	return data.Each(slices.Concat(f.names, []string{"manifest.json"}), func(name string) string { return filepath.Join(f.dir, name) })
}

// model is what is read of a fitted model, a folder or a file.
func model(arg string) []string {
	if !isDir(arg) {
		return []string{arg}
	}
	return folder{dir: arg, names: []string{"model.safetensors", "embedding.npz"}}.paths()
}

// rows is the file of rows that arg names or, of a directory, the files of rows in it.
func rows(arg string) (paths []string) {
	if !isDir(arg) {
		return []string{arg}
	}
	for _, pattern := range []string{"*cal*.csv", "*test*.csv", "shifts_canonical_*.csv"} {
		found, _ := filepath.Glob(filepath.Join(arg, pattern))
		paths = append(paths, found...)
	}
	return paths
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// apart returns an *InputError if the command would write over a file that it reads, under
// whatever name; or over one that belongs to a folder, if it writes single files; or if
// what it reads is of two runs (see [disk.Hold]).
func (t traffic) apart() error {
	reads := slices.DeleteFunc(t.reads, func(path string) bool { return path == "" })
	for _, out := range slices.Concat(t.folder.paths(), t.drawn.paths(), t.files) {
		written, err := os.Stat(out)
		if err != nil {
			continue // nothing to be lost
		}
		for _, in := range reads {
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
	held, err := disk.Hold(reads...)
	if err != nil {
		return err
	}
	held.Release()
	return nil
}

// prepare holds what a command reads and writes apart, and makes sure that its folder can be
// written (see [run.PrepareDir]).
func prepare(command any) (undo func(), err error) {
	undo = func() {}
	c, ok := command.(interface{ traffic() traffic })
	if !ok {
		return undo, nil
	}
	t := c.traffic()
	if err := t.apart(); err != nil {
		return nil, data.Inputf("", "%w", err)
	}
	for _, dir := range []string{t.folder.dir, t.drawn.dir} {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, data.Inputf(dir, "is a file; name a directory")
		}
	}
	for _, f := range []folder{t.folder, {dir: t.drawn.dir}} {
		if f.dir == "" {
			continue
		}
		before := undo
		after, err := run.PrepareDir(f.dir, f.group, f.names...)
		if err != nil {
			before()
			return nil, err
		}
		undo = func() { after(); before() }
	}
	return undo, nil
}
