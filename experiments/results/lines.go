package results

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"calibra/data"
)

// linesOf fills the mark lines: a csv file as the terminal prints it.
func linesOf(dir string, a arguments) (string, error) {
	path := filepath.Join(dir, a["file"])
	text, err := data.ReadFile(path)
	if err != nil {
		return "", data.Inputf(path, "cannot be read: %w; the page that shows it names the command that writes it", err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return "", data.Inputf(path, "is no csv file: %w", err)
	}
	var b strings.Builder
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintf(w, "    %s\n", strings.Join(line, "\t"))
	}
	w.Flush()
	return b.String() + "\n", nil
}
