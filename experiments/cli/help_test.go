package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"calibra/experiments/method"
)

// TestHelps: the help of each command fits a terminal. A first user has it on one or two screens with an example or
// three, each of which the parser takes; --all has every flag and the exit codes.
func TestHelps(t *testing.T) {
	const (
		most     = 60 // lines of --help
		examples = 3
	)
	nodes := commands(t)
	_, top, _ := calibra(t, "--help")
	if strings.Count(top, "\n") > most {
		t.Errorf("calibra --help has %d lines", strings.Count(top, "\n"))
	}
	for _, node := range nodes {
		if !node.Hidden && !strings.Contains(top, "\n  "+node.Name+" ") {
			t.Errorf("calibra --help does not list %s", node.Name)
		}
		lines := map[string]int{}
		for columns, width := range map[string]int{"80": 80, "120": 120} {
			t.Setenv("COLUMNS", columns)
			code, first, _ := calibra(t, node.Name, "--help")
			if n := strings.Count(first, "\n"); code != 0 || n > most || strings.Contains(first, "Exit codes") {
				t.Errorf("%s --help exits %d with %d lines; move flags into a group, and text below the line --- of help/%s.txt", node.Name, code, n, node.Name)
			}
			code, all, _ := calibra(t, node.Name, "--help", "--all")
			lines[columns] = strings.Count(all, "\n")
			for _, text := range []string{first, all} {
				for _, line := range strings.Split(text, "\n") {
					if n := utf8.RuneCountInString(line); n > width {
						t.Errorf("%s --help takes %d columns: %q", node.Name, n, line)
					}
				}
			}
			for _, f := range node.Flags {
				if !f.Hidden && !strings.Contains(all, " --"+f.Name) {
					t.Errorf("%s --help --all exits %d and does not explain --%s", node.Name, code, f.Name)
				}
			}
			if !strings.HasPrefix(all[strings.LastIndex(all, "\n\n")+2:], "Exit codes:") {
				t.Errorf("%s --help --all does not end with the exit codes", node.Name)
			}
		}
		if len(node.Flags) > 5 && lines["120"] >= lines["80"] {
			t.Errorf("%s --help --all takes %d lines of 80 columns and %d of 120", node.Name, lines["80"], lines["120"])
		}
		calls := examplesOf(t, node.Name)
		if len(calls) == 0 || len(calls) > examples {
			t.Errorf("%s --help has %d examples; give one to %d", node.Name, len(calls), examples)
		}
		for _, call := range calls {
			parser, err := newParser(t.Context(), everyCommand, testTerminal(), method.NewCatalog())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse(call); err != nil {
				t.Errorf("an example of %s does not parse: %q: %v", node.Name, call, err)
			}
		}
	}
}

// examplesOf are the arguments of the commands in a help text, which stand on indented lines.
func examplesOf(t *testing.T, command string) (calls [][]string) {
	text, err := helps.ReadFile("help/" + command + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.ReplaceAll(string(text), "\\\n", ""), "\n") {
		line = strings.Replace(line, "source <(", "", 1)
		if call, example := strings.CutPrefix(line, "  calibra "); example {
			calls = append(calls, strings.Fields(strings.FieldsFunc(call, func(r rune) bool { return strings.ContainsRune("#|)", r) })[0]))
		}
	}
	return calls
}
