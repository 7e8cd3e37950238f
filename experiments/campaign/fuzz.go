package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

var fuzzTest = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// fuzzers runs every fuzz test of the repository, all for the same time.
func fuzzers(c *campaign, n *count, _ *rand.Rand) {
	type test struct{ pkg, name string }
	var tests []test
	must(filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && path != "." && strings.HasPrefix(e.Name(), ".") {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(path, "_test.go") {
			for _, m := range fuzzTest.FindAllSubmatch(read(path), -1) {
				tests = append(tests, test{"./" + filepath.Dir(path), string(m[1])})
			}
		}
		return err
	}))
	n.Goal = len(tests)
	each := time.Until(n.until) / time.Duration(max(1, len(tests)))
	each = max(each, time.Second).Round(time.Second)
	for _, t := range tests {
		if c.ctx.Err() != nil {
			return
		}
		n.Done++
		args := []string{"test", "-run", "xxx", "-fuzz", "^" + t.name + "$", "-fuzztime", each.String(), "-fuzzminimizetime", "10x", t.pkg}
		out, err := exec.CommandContext(c.ctx, "go", args...).CombinedOutput()
		if err != nil && timeUp(string(out)) {
			args = []string{"test", "-run", "^" + t.name + "$", t.pkg} // the inputs that are known
			out, err = exec.CommandContext(c.ctx, "go", args...).CombinedOutput()
		}
		if err != nil && c.ctx.Err() == nil {
			n.failed("traces", "go %s: %s", strings.Join(args, " "), last(string(out)))
		}
	}
	n.note = fmt.Sprintf("%d tests, %v each", len(tests), each)
}

var endOfTime = regexp.MustCompile(`(?m)^--- FAIL: Fuzz\w+ \(.*\)\n    context deadline exceeded\nFAIL$`)

// timeUp reports whether all that go test -fuzz calls a failure is that its time was up while a
// worker was busy, which is a defect of go test: it compares the end of the time with the
// end of the workers' context, and the one may come before the other. An input that failed
// at that moment is written, but not named: the inputs that are known have the last word.
func timeUp(output string) bool {
	return endOfTime.MatchString(output) && !strings.Contains(output, "Failing input written to")
}

// last is the end of what go test said, where it names the input.
func last(text string) string {
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-600):]
}
