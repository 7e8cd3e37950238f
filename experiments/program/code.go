package program

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// Code knows the sources that the program was compiled from, as far as they are embedded in it: the go command embeds
// what it compiles, so that neither can be older than the other.
type Code struct {
	build *debug.BuildInfo
	trees map[string]fs.FS
	mu    sync.Mutex
	known map[string]string // digests by the names of packages
}

// NewCode is the code of the running program, of which trees are the embedded sources, by the import path of the folder
// that they lie in; "" is that of the program's package main.
func NewCode(trees map[string]fs.FS) *Code {
	build, _ := debug.ReadBuildInfo()
	return &Code{build: build, trees: trees, known: map[string]string{}}
}

// Digest is that of the files of packages of this module and of the main one, and of those that they import there; of
// the versions of all other modules; and of the compiler with its settings. Tests are left out. It is "" where a part
// is not known: a package whose files are not embedded, or stand for those of package main and are not; another module
// that was changed; a file of C, assembly or data.
func (c *Code) Digest(packages ...string) string {
	slices.Sort(packages)
	name := strings.Join(slices.Compact(packages), " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	if digest, there := c.known[name]; there {
		return digest
	}
	read := map[string]string{}
	err := c.others(read)
	for _, p := range packages {
		err = errors.Join(err, c.read(p, read))
	}
	var text strings.Builder
	for _, file := range slices.Sorted(maps.Keys(read)) {
		fmt.Fprintf(&text, "%q %q\n", file, read[file])
	}
	sum := sha256.Sum256([]byte(text.String()))
	if c.known[name] = hex.EncodeToString(sum[:]); err != nil {
		c.known[name] = ""
	}
	return c.known[name]
}

// commands is the package that package main calls: it calls parts, and no part is made of it.
const commands = ourModule + "/experiments/cli"

var errUnknown = errors.New("program: code that is not known")

// others reads the versions of the modules that are not embedded, and the compiler's settings.
func (c *Code) others(read map[string]string) error {
	if c.build == nil {
		return errUnknown
	}
	read["compiler"] = c.build.GoVersion
	for _, s := range c.build.Settings {
		if !strings.HasPrefix(s.Key, "vcs") {
			read["-"+s.Key] = s.Value
		}
	}
	for _, m := range c.build.Deps {
		if c.trees[m.Path] != nil {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if read["module "+m.Path] = m.Version + " " + m.Sum; m.Sum == "" {
			return errUnknown
		}
	}
	return nil
}

// read reads the files of a package, and of those that it imports.
func (c *Code) read(name string, read map[string]string) error {
	if name == "main" && c.build != nil {
		name = c.build.Path
	}
	if _, done := read[name]; done || name == commands {
		return nil
	}
	for root, tree := range c.trees {
		if root == "" && c.build != nil {
			root = c.build.Path
		}
		if dir, within := strings.CutPrefix(name+"/", root+"/"); within {
			if files, _ := fs.Glob(tree, path.Join(dir, "*.go")); len(files) > 0 {
				read[name] = "a package"
				return c.readFiles(name, tree, path.Clean(dir), read)
			}
		}
	}
	inside := func(root string) bool { return within(name, root) }
	if name == "C" || c.build == nil || slices.ContainsFunc([]string{c.build.Path, c.build.Main.Path, ourModule}, inside) {
		return errUnknown
	}
	return nil // of Go itself, or of a module whose version is known
}

func within(name, root string) bool { return strings.HasPrefix(name+"/", root+"/") }

// readFiles reads those of the package in a folder of a tree.
func (c *Code) readFiles(name string, tree fs.FS, dir string, read map[string]string) error {
	entries, err := fs.ReadDir(tree, dir)
	assembly := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return path.Ext(e.Name()) == ".s" })
	for _, e := range entries {
		if e.IsDir() || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, failed := fs.ReadFile(tree, path.Join(dir, e.Name()))
		err = errors.Join(err, failed)
		if read[name+" "+e.Name()] = string(text); path.Ext(e.Name()) != ".go" {
			continue
		}
		mode := parser.ParseComments | parser.SkipObjectResolution
		if within(name, ourModule) { // whose data have a digest of their own
			mode = parser.ImportsOnly
		}
		file, failed := parser.ParseFile(token.NewFileSet(), e.Name(), text, mode)
		if failed != nil {
			return failed
		}
		misplaced := (file.Name.Name == "main") != (name == c.build.Path)
		if misplaced || !assembly && lacksBodies(file) || embedsData(file) {
			return errUnknown
		}
		for _, i := range file.Imports {
			err = errors.Join(err, c.read(strings.Trim(i.Path.Value, "\"`"), read))
		}
	}
	return err
}

// lacksBodies reports whether the file has functions of assembly.
func lacksBodies(file *ast.File) bool {
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, is := d.(*ast.FuncDecl)
		return is && f.Body == nil
	})
}

// embedsData reports whether the file embeds other files than those of Go.
func embedsData(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if patterns, embeds := strings.CutPrefix(comment.Text, "//go:embed "); embeds {
				for pattern := range strings.FieldsSeq(patterns) {
					if !strings.HasSuffix(strings.Trim(pattern, "\"`"), ".go") {
						return true
					}
				}
			}
		}
	}
	return false
}
