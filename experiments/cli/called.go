package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// called is a command of calibra, such as "calibra fit --in F", as who called this program can
// type it: by its name where a shell finds that, else by the path that it was called by, and
// by go run where that built it.
func called(command string) string {
	rest := strings.TrimPrefix(command, "calibra ")
	if rest == command {
		return command
	}
	if _, err := exec.LookPath("calibra"); err == nil {
		return command
	}
	self := os.Args[0]
	if strings.Contains(filepath.ToSlash(self), "/go-build") {
		self = "go run ./experiments/cmd/calibra"
	}
	return self + " " + rest
}
