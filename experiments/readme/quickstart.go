package readme

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"calibra/data"
)

// quickstart is the table that calibra quickstart prints.
func quickstart(dir string) (string, error) {
	path := filepath.Join(dir, "quickstart.csv")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", data.Inputf(path, "cannot be read: %w; copy results.csv of calibra quickstart there", err)
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
