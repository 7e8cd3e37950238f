package cli

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/data/disk"
)

// newCmd writes a module of a researcher's own: the files of one folder of internal/new, with a go.mod that finds
// calibra in a clone. Each folder is a program that this repository builds. Its tests ask for the build tag modules,
// which is not written; they run in the modules that TestModulesAsTold writes, in a step of .ci/run, as each needs a
// program of its own.
type newCmd struct {
	Dir      string `arg:"" type:"path" help:"Folder to write; it must be new or empty."`
	Map      bool   `xor:"part" help:"A calibration map: the paper's bilinear calibrator in full, for you to change."`
	Codes    bool   `xor:"part" help:"Codes, which divide the latent space: codewords that lie far from each other."`
	Baseline bool   `xor:"part" help:"A baseline with its own fit: a bias for each class."`
	Metric   bool   `xor:"part" help:"A metric: the spherical score."`
	Study    bool   `xor:"part" help:"A study of the theory: label noise and an L1 penalty."`
	Rule     bool   `xor:"part" help:"An optimizer: Lion."`
	Clone    string `type:"path" placeholder:"DIR" help:"Clone of calibra to build the module with (the clone that this program was built in, or is run in)."`
}

// templates are the files of the modules, a folder for each part.
//
//go:embed internal/new
var templates embed.FS

// part is the folder of the flag that is given.
func (c *newCmd) part() string {
	for name, chosen := range map[string]bool{"map": c.Map, "codes": c.Codes, "baseline": c.Baseline, "metric": c.Metric, "study": c.Study, "rule": c.Rule} {
		if chosen {
			return name
		}
	}
	return ""
}

func (c *newCmd) Run(t *terminal) error {
	if c.part() == "" {
		return data.Inputf("", "say what to write, such as calibra new %s --map; calibra new --help lists the parts", quoted(relative(c.Dir)))
	}
	switch entries, err := os.ReadDir(c.Dir); {
	case err == nil && len(entries) > 0:
		return data.Inputf(c.Dir, "is not empty; name a folder that is new or empty")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return data.Inputf(c.Dir, "cannot be written: %w", err)
	}
	clone, err := cloneOf(c.Clone)
	if err != nil {
		return err
	}
	files, err := module(c.part(), c.Dir, clone)
	if err != nil {
		return err
	}
	if err := disk.MkdirAll(c.Dir); err != nil {
		return data.Inputf(c.Dir, "cannot be made: %w", err)
	}
	for _, f := range files {
		if err := disk.WriteBytes(filepath.Join(c.Dir, f.name), f.text); err != nil {
			return err
		}
	}
	return t.printf("wrote %s, a module with calibra in %s; then\n\n  cd %s\n  go test ./...\n\n%s has the commands that use it\n",
		c.Dir, clone, quoted(relative(c.Dir)), filepath.Join(relative(c.Dir), "README.md"))
}

// moduleFile is a file of the module, as it is written.
type moduleFile struct {
	name string
	text []byte
}

// module is the files for dir of the part's module, which is built with the clone.
func module(part, dir, clone string) (files []moduleFile, err error) {
	folder := path.Join("internal/new", part)
	entries, err := templates.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	imports := ""
	for _, e := range entries {
		text, err := templates.ReadFile(path.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		text = bytes.TrimPrefix(text, []byte("//go:build modules\n\n"))
		files, imports = append(files, moduleFile{e.Name(), text}), imports+string(text)
	}
	mod, err := data.ReadSmall(filepath.Join(clone, "go.mod"), mostModule)
	if err != nil {
		return nil, err
	}
	sum, err := data.ReadSmall(filepath.Join(clone, "go.sum"), mostModule)
	if err != nil {
		return nil, err
	}
	return append(files, moduleFile{"go.mod", goMod(string(mod), imports, replacement(dir, clone))}, moduleFile{"go.sum", sum}), nil
}

// mostModule is how many bytes go.mod or go.sum may have.
const mostModule = 1 << 20

// required is a line of go.mod that requires a module.
var required = regexp.MustCompile(`(?m)^\t(\S+) v\S+`)

// goMod is that of a module which requires what the clone's own does, and the clone at the place to: so nothing is
// looked up, and calibra is built with the versions that it was tested with. What imports names is a direct
// requirement.
func goMod(clones, imports, to string) []byte {
	_, rest, _ := strings.Cut(clones, "\n") // less the line module
	var direct, indirect strings.Builder
	direct.WriteString("\tcalibra v0.0.0\n")
	for _, line := range required.FindAllStringSubmatch(rest, -1) {
		if strings.Contains(imports, "\t\""+line[1]) {
			direct.WriteString(line[0] + "\n")
		} else {
			indirect.WriteString(line[0] + " // indirect\n")
		}
	}
	version := regexp.MustCompile(`(?m)^go .*$`).FindString(rest)
	return []byte("module mine\n\n" + version + "\n\nrequire (\n" + direct.String() + ")\n\nrequire (\n" + indirect.String() + ")\n\nreplace calibra => " + to + "\n")
}

// replacement is how the go.mod in dir names the clone: by the way from one to the other where dir lies in
// the folder around the clone, so that both can move together, else by its place.
func replacement(dir, clone string) string {
	to := clone
	if around, err := filepath.Rel(filepath.Dir(clone), dir); err == nil && filepath.IsLocal(around) {
		if rel, err := filepath.Rel(dir, clone); err == nil {
			if to = filepath.ToSlash(rel); !strings.HasPrefix(to, "..") {
				to = "./" + to
			}
		}
	}
	if strings.ContainsAny(to, " \t\"'`()[]{},;") || strings.Contains(to, "//") {
		return strconv.Quote(to)
	}
	return to
}

// cloneOf is the clone that the flag names or, without, the nearest above this file's place when the program was built,
// above the program, or above the current directory. A released module of this name cannot be had: its path is no
// address.
func cloneOf(named string) (string, error) {
	if named != "" {
		if !isClone(named) {
			return "", data.Inputf(named, "is no clone of calibra: it has no go.mod of the module calibra")
		}
		return named, nil
	}
	_, built, _, _ := runtime.Caller(0) // calibra/… of a program that was built with -trimpath
	self, _ := os.Executable()
	current, _ := os.Getwd()
	for _, dir := range []string{filepath.Dir(built), filepath.Dir(self), current} {
		for filepath.IsAbs(dir) {
			if isClone(dir) {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
	return "", data.Inputf("", "there is no clone of calibra around this program or the current directory; name one by --clone DIR")
}

func isClone(dir string) bool {
	mod, err := data.ReadSmall(filepath.Join(dir, "go.mod"), mostModule)
	return err == nil && strings.HasPrefix(string(mod), "module calibra\n")
}
