package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// made is the file that says of each result file by which command it was made. The commit that made it is the last one
// that changed it, or the one in the column again, whose program made the same bytes.
const made = "made.csv"

// program is the package whose imports make the numbers of a command; a command without one is of a program outside.
var program = regexp.MustCompile(`^calibra |\./experiments/[a-z]+`)

// Old lists the result files whose program has changed since they were made: the files of Go, without tests, of the
// packages that their command imports. It needs the repository's history.
func Old(root string) (old []string, err error) {
	lines, err := readLines(filepath.Join(root, folder), made)
	if err != nil {
		return nil, err
	}
	imports := map[string][]string{}
	for _, line := range lines[1:] {
		file, command, again := line[0], line[1], line[2]
		of := program.FindString(command)
		if of == "" {
			continue
		}
		if of == "calibra " {
			of = "./experiments/run" // which fits and measures; the command prints
		}
		if imports[of] == nil {
			if imports[of], err = output(root, "go", "list", "-deps", "-f", `{{if not .Standard}}{{.ImportPath}}{{end}}`, of); err != nil {
				return nil, err
			}
		}
		commit := []string{again}
		if again == "" {
			commit, err = output(root, "git", "log", "-1", "--format=%h", "--", folder+"/"+file)
		}
		if err != nil || len(commit) == 0 {
			return nil, fmt.Errorf("%s names %s, which no commit has: %w", made, file, err)
		}
		changed, err := output(root, "git", "diff", "--name-only", commit[0], "HEAD", "--", "*.go")
		if err != nil {
			return nil, err
		}
		changed = slices.DeleteFunc(changed, func(path string) bool {
			return strings.HasSuffix(path, "_test.go") || !slices.Contains(imports[of], "calibra/"+filepath.ToSlash(filepath.Dir(path)))
		})
		if len(changed) > 0 {
			old = append(old, fmt.Sprintf("%s: %d files of its program changed since %s, %s first; run %s", file, len(changed), commit[0], changed[0], command))
		}
	}
	return old, nil
}

// output is the lines that a command prints in a directory.
func output(dir, name string, args ...string) ([]string, error) {
	command := exec.Command(name, args...)
	command.Dir = dir
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.Fields(string(text)), nil
}
