package cli

import (
	"os"
	"path/filepath"
	"strings"

	"calibra/experiments/report"
)

// verdicts prints what to do with what was found, a paragraph for each data set.
func (t *terminal) verdicts(all []*report.Verdict) error {
	for _, v := range all {
		var text strings.Builder
		text.WriteString("\n")
		if v.Data != "" {
			text.WriteString(v.Data + "\n")
		}
		for _, line := range v.Text() {
			text.WriteString(folded(line, width(t.out)) + "\n")
		}
		for _, command := range v.Commands {
			text.WriteString("  " + called(command) + "\n")
		}
		if err := t.print([]byte(text.String())); err != nil {
			return err
		}
	}
	return nil
}

// relative is the path from the working directory where that is below it, else as it is.
func relative(path string) string {
	at, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(at, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}
