package experiments_test

import (
	"go/ast"
	"strings"
	"testing"
)

// doors are the functions that open, make or change a file by its path, of which data and disk have one
// for each: what is read is a file and no pipe, and what is written is there whole or not at
// all.
var doors = map[string]string{
	"os.Open": "data.OpenFile", "os.OpenFile": "data.OpenFile or disk.WriteFile", "os.ReadFile": "data.ReadFile or data.ReadSmall",
	"os.Create": "disk.WriteFile", "os.WriteFile": "disk.WriteBytes", "os.Rename": "disk.WriteFile", "os.DirFS": "data.OpenFile",
	"os.Mkdir": "disk.MkdirAll", "os.MkdirAll": "disk.MkdirAll", "os.Remove": "disk.Remove", "os.RemoveAll": "disk.RemoveAll",
	"os.CreateTemp": "disk.WriteFile", "os.MkdirTemp": "disk.Folder", "os.TempDir": "the output's directory", "os.Truncate": "disk.WriteFile",
	"os.Symlink": "disk.WriteFile", "os.Link": "disk.WriteFile", "zip.OpenReader": "data.OpenFile", "syscall.Open": "data.OpenFile", "unix.Open": "data.OpenFile", "ioutil.ReadFile": "data.ReadFile", "ioutil.WriteFile": "disk.WriteBytes",
}

// pastDoors are the files and folders that may use them, with the reason.
var pastDoors = map[string]string{
	"data/disk/disk.go":                        "is the door",
	"data/open.go":                             "is the door",
	"experiments/bench/main.go":                "makes what calibra is measured with, in a directory of its own",
	"experiments/report/tensorboard/events.go": "adds events to a file while a fit runs, and asks disk.CheckFile before",
	"graph/cuda/gen/":                          "writes the kernels of this repository from their sources",
	"graph/cuda/cudatest/":                     "builds kernels of this repository for tests",
	"notebooks/check/main.go":                  "reads the notebooks of this repository",
}

// TestDoors: nothing but the doors opens or changes files.
func TestDoors(t *testing.T) {
	used := map[string]bool{}
	for _, file := range sources(t) {
		ast.Inspect(file.tree, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := s.X.(*ast.Ident)
			if !ok || pkg.Obj != nil || doors[pkg.Name+"."+s.Sel.Name] == "" {
				return true
			}
			for past := range pastDoors {
				if file.name == past || strings.HasSuffix(past, "/") && strings.HasPrefix(file.name, past) {
					used[past] = true
					return true
				}
			}
			t.Errorf("%s uses %s.%s; use %s", file.name, pkg.Name, s.Sel.Name, doors[pkg.Name+"."+s.Sel.Name])
			return true
		})
	}
	for past, why := range pastDoors {
		if !used[past] {
			t.Errorf("%s need not be let past, though it %s", past, why)
		}
	}
}
