package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// Called is a command of calibra, such as "calibra fit --in F", as who called this program can
// type it: by its name where a shell finds that, else by the path that it was called by, and
// by go run where that built it.
func Called(command string) string {
	rest := strings.TrimPrefix(command, "calibra ")
	if rest == command {
		return command
	}
	self, name := os.Args[0], Name()
	switch _, err := exec.LookPath(name); {
	case underGoRun() && Outside():
		self = "go run ."
	case err == nil:
		self = name
	case underGoRun():
		self = "go run ./experiments/cmd/calibra"
	}
	return self + " " + rest
}

// Outside reports whether this program belongs to another module, which has parts of its own.
func Outside() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && info.Main.Path != "calibra"
}

// Name is the name of this program; a program with parts of another module has another name.
func Name() string {
	if underGoRun() {
		return "calibra"
	}
	return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
}

// underGoRun reports whether go run, or go test, built this program for once.
func underGoRun() bool { return strings.Contains(filepath.ToSlash(os.Args[0]), "/go-build") }
