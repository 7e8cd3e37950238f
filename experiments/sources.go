package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	pathpkg "path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"calibra/data"
)

// errUnknown means that the source files of something cannot be found.
var errUnknown = errors.New("experiments: the source files are not known")

// Sources is the digest of the source files that a run of the Spec is made of, "" where they are
// not known: those of the packages that the calibrator's parts come from, of its rules and
// metrics from outside, of this package and the others named (import paths), and of all packages
// below them. Another package of the program may change, as may a method of another module,
// without changing it.
//
// The program knows the files by their places when it was built. What is not there, or was
// changed since the program was built, is not known, nor is a package of a module that was
// replaced by a directory. Modules by their sums, the version of Go and the settings of the build
// are part of the digest.
func (s Spec) Sources(others ...string) (digest string) {
	defer func() {
		if recover() != nil { // of a method's own code, which a fit will report
			digest = ""
		}
	}()
	w := wares{dirs: map[string]string{}}
	w.dirs["calibra/experiments"] = filepath.Dir(ourFile())
	if err := w.addSpec(s); err != nil || w.unknown {
		return ""
	}
	sum := sha256.New()
	build, err := buildDigest()
	fmt.Fprintln(sum, build)
	for _, path := range others { // their own files alone
		dir, _ := inOurs(path)
		p, err := readPackage(dir)
		if err != nil {
			return ""
		}
		fmt.Fprintf(sum, "%s %x\n", path, p.digest)
	}
	if err = errors.Join(err, w.below(sum)); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Code is the digest of the source files that a result of package experiments/study is made of, in
// twelve hexadecimal digits: those of that package and of all below it, without tests, texts, Go's
// version and the settings of the build. So it is the same in every clone of a commit, and results
// that are kept carry it. It is "" where the files are not known, as in a program without its sources.
var Code = sync.OnceValue(func() string {
	dir, _ := inOurs("calibra/experiments/study")
	w := wares{dirs: map[string]string{"calibra/experiments/study": dir}}
	sum := sha256.New()
	if err := w.below(sum); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
})

// ourFile is where this file was when the program was built; ourRoot is the module's root.
func ourFile() string { _, file, _, _ := runtime.Caller(0); return file }
func ourRoot() string { return filepath.Dir(filepath.Dir(ourFile())) }

// wares are the packages that something is made of, with their directories, "" until known.
type wares struct {
	dirs    map[string]string
	seen    map[uintptr]bool
	unknown bool
}

// addSpec adds the packages of the Spec's method, of what it tunes by, of its rules and of the metrics.
func (w *wares) addSpec(s Spec) error {
	m, err := s.Catalog.Find(s.Method)
	if err != nil {
		return err
	}
	values := s.values()
	made := []Method{m}
	if tried, err := s.Catalog.Tried(m); err == nil && s.Tune {
		made = append(made, tried)
	}
	for _, m := range made {
		w.add(reflect.ValueOf(m.New))
		w.add(reflect.ValueOf(m.New(&Options{Catalog: s.Catalog, Values: values})))
	}
	for _, r := range s.Catalog.ruleList() {
		for _, key := range values.Names() {
			if strings.HasSuffix(key, ".rule") && values[key] == r.Name {
				w.add(reflect.ValueOf(r.New))
			}
		}
	}
	for _, o := range s.Catalog.Metrics() {
		w.add(reflect.ValueOf(o))
	}
	return nil
}

// add adds the packages of the types and functions in v.
func (w *wares) add(v reflect.Value) {
	if !v.IsValid() {
		return
	}
	w.addType(v.Type())
	switch v.Kind() {
	case reflect.Func:
		if !v.IsNil() {
			w.addFunc(v.Pointer())
		}
	case reflect.Pointer:
		if w.seen[v.Pointer()] || v.IsNil() {
			return
		}
		if w.seen == nil {
			w.seen = map[uintptr]bool{}
		}
		w.seen[v.Pointer()] = true
		w.add(v.Elem())
	case reflect.Interface:
		w.add(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			w.add(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range min(v.Len(), 1000) {
			if k := v.Type().Elem().Kind(); k <= reflect.Complex128 || k == reflect.String {
				break
			}
			w.add(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			w.add(v.MapIndex(key))
		}
	}
}

// addType adds the package of a type of a module that is not known by its sum.
func (w *wares) addType(t reflect.Type) {
	path := t.PkgPath()
	if path == "" || settled(path) || w.dirs[path] != "" {
		return
	}
	if dir, ours := inOurs(path); ours {
		w.dirs[path] = dir
		return
	}
	w.dirs[path] = "" // another type of the package may show it
	if t.Kind() == reflect.Interface {
		return
	}
	for _, of := range []reflect.Type{t, reflect.PointerTo(t)} {
		for i := range of.NumMethod() {
			w.addFunc(of.Method(i).Func.Pointer())
		}
	}
}

// addFunc adds the package of the function at pc.
func (w *wares) addFunc(pc uintptr) {
	f := runtime.FuncForPC(pc)
	if f == nil {
		w.unknown = true
		return
	}
	if file, _ := f.FileLine(pc); filepath.IsAbs(file) { // a promoted method has none
		w.addCode(f.Name(), file)
	}
}

// addCode adds the packages that a function of that name is of, whose code is in file. They are
// two where the compiler has put the code of one into a function of the other: a function literal
// of a constructor is then named after the package that calls it, whose directory other types and
// functions may show.
func (w *wares) addCode(name, file string) {
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot < 0 {
		return
	}
	path, dir := name[:slash+dot], filepath.Dir(file)
	p, err := readPackage(dir)
	switch {
	case err != nil:
		w.unknown = w.unknown || !settled(path)
	case !settled(p.path):
		w.dirs[p.path] = dir
	}
	if w.dirs[path] == "" && !settled(path) {
		w.dirs[path] = ""
	}
}

// inOurs is the directory of a package of this module.
func inOurs(path string) (dir string, ours bool) {
	rest, ours := strings.CutPrefix(path, "calibra/")
	return filepath.Join(ourRoot(), rest), ours
}

// settled reports whether a package is of Go's library, or of a module known by its sum: not of
// this module, of the program's, or of one that a directory replaces.
func settled(path string) bool {
	if path == "main" || within(path, "calibra") {
		return false
	}
	info := buildInfo()
	if info == nil || within(path, info.Main.Path) {
		return false
	}
	for _, d := range info.Deps {
		if within(path, d.Path) {
			return d.Replace == nil || d.Replace.Sum != ""
		}
	}
	return true
}

// within reports whether a package is of a module.
func within(path, module string) bool {
	return module != "" && (path == module || strings.HasPrefix(path, module+"/"))
}

// below writes the digests of the packages and of all that they import to a hash, in the order
// of their paths.
func (w *wares) below(to io.Writer) error {
	digests := map[string][sha256.Size]byte{}
	for open := slices.Collect(maps.Keys(w.dirs)); len(open) > 0; open = open[1:] {
		path := open[0]
		if _, done := digests[path]; done {
			continue
		}
		p, err := readPackage(w.dirs[path])
		if err != nil {
			return err
		}
		digests[path] = p.digest
		for _, other := range p.imports {
			if w.dirs[other], err = w.find(path, other); err != nil {
				return err
			}
			open = append(open, other)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(digests)) {
		fmt.Fprintf(to, "%s %x\n", path, digests[path])
	}
	return nil
}

// find is the directory of a package that another one imports.
func (w *wares) find(path, other string) (string, error) {
	if dir, ours := inOurs(other); ours {
		return dir, nil
	}
	m, err := moduleOf(w.dirs[path])
	if err != nil {
		return "", err
	}
	return filepath.Join(m.root, strings.TrimPrefix(other, m.path)), nil
}

// sources are a package's files.
type sources struct {
	path    string // by which it is imported, "main" of a program
	digest  [sha256.Size]byte
	imports []string // that are not settled, ascending
	err     error
}

var packages sync.Map // of sources by directory

// readPackage reads the files in dir, and in directories below it that hold no package, such as
// tables that are embedded. Tests are left out.
func readPackage(dir string) (sources, error) {
	if known, ok := packages.Load(dir); ok {
		return known.(sources), known.(sources).err
	}
	p := sources{path: "main"}
	p.err = p.read(dir)
	slices.Sort(p.imports)
	p.imports = slices.Compact(p.imports)
	packages.Store(dir, p)
	return p, p.err
}

// read digests the module and the files of the package in dir.
func (p *sources) read(dir string) error {
	built, err := builtAt()
	if err != nil {
		return err
	}
	if dir == "" {
		return errUnknown
	}
	m, err := moduleOf(dir)
	if err != nil {
		return err
	}
	sum := sha256.New()
	sum.Write([]byte(m.text))
	defer func() { sum.Sum(p.digest[:0]) }()
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && apart(path):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".md"):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.ModTime().After(built) {
			return errUnknown // of another build
		}
		text, err := data.ReadFile(path)
		if err != nil {
			return err
		}
		rest, _ := filepath.Rel(dir, path)
		fmt.Fprintf(sum, "%q %d ", rest, len(text))
		sum.Write(text)
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		return p.parse(path, text, m)
	})
}

// apart reports whether a directory below a package's holds another package, or nothing of the program.
func apart(dir string) bool {
	goFiles, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	name := filepath.Base(dir)
	return goFiles != nil || name == "testdata" || strings.HasPrefix(name, ".")
}

// parse takes the package's path and imports from a file of it, in the module m.
func (p *sources) parse(path string, text []byte, m module) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
	if err != nil {
		return err
	}
	if file.Name.Name != "main" && p.path == "main" {
		rest, _ := filepath.Rel(m.root, filepath.Dir(path))
		p.path = pathpkg.Join(m.path, filepath.ToSlash(rest))
	}
	for _, spec := range file.Imports {
		other, err := strconv.Unquote(spec.Path.Value)
		switch {
		case err != nil:
			return err
		case within(other, "calibra"), within(other, m.path):
			p.imports = append(p.imports, other)
		case slices.ContainsFunc(m.replaced, func(module string) bool { return within(other, module) }):
			return errUnknown
		}
	}
	return nil
}

// module is the content of a go.mod.
type module struct {
	root, path string
	text       string   // go.mod and go.sum
	replaced   []string // modules that directories stand for
}

var replacement = regexp.MustCompile(`(?m)^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+[./]`)

// moduleOf is the module that a directory belongs to.
func moduleOf(dir string) (module, error) {
	for root := dir; ; root = filepath.Dir(root) {
		text, err := data.ReadFile(filepath.Join(root, "go.mod"))
		if err != nil {
			if root == filepath.Dir(root) {
				return module{}, errUnknown
			}
			continue
		}
		m := module{root: root, text: string(text)}
		for line := range strings.Lines(m.text) {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
				m.path = strings.Trim(strings.TrimSpace(path), `"`)
			}
		}
		m.replaced = data.Each(replacement.FindAllStringSubmatch(m.text, -1), func(found []string) string { return found[1] })
		sums, err := data.ReadFile(filepath.Join(root, "go.sum"))
		if m.text += string(sums); m.path == "" || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return m, errUnknown
		}
		return m, nil
	}
}

var buildInfo = sync.OnceValue(func() *debug.BuildInfo {
	info, _ := debug.ReadBuildInfo()
	return info
})

// buildDigest is what the packages were built with.
func buildDigest() (string, error) {
	info := buildInfo()
	if info == nil {
		return "", errUnknown
	}
	text := info.GoVersion
	for _, s := range info.Settings {
		if !strings.HasPrefix(s.Key, "vcs") {
			text += "\n" + s.Key + "=" + s.Value
		}
	}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		if d.Sum != "" {
			text += "\n" + d.Path + " " + d.Sum
		}
	}
	return text, nil
}

// builtAt is when the program was built.
var builtAt = sync.OnceValues(func() (time.Time, error) {
	path, err := os.Executable()
	if err != nil {
		return time.Time{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
})
