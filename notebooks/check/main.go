// Command check reads executed notebooks and exits with status 1 unless each is whole: every code cell ran, none
// failed, each program shows something, the file is small. nbconvert alone does not check that, as gonb reports a cell
// whose program fails on its standard error and goes on.
//
//	go run ./check 01-quickstart.ipynb …
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// largest is the size in bytes that a notebook may have, so that a clone stays small.
const largest = 300_000

type notebook struct {
	Cells []struct {
		Type      string          `json:"cell_type"`
		Execution *int            `json:"execution_count"`
		Source    json.RawMessage `json:"source"`
		Outputs   []struct {
			Type string          `json:"output_type"`
			Name string          `json:"name"`
			Text json.RawMessage `json:"text"`
			Data json.RawMessage `json:"data"`
		} `json:"outputs"`
	} `json:"cells"`
}

func main() {
	failed := len(os.Args) < 2
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(text) > largest {
		return fmt.Errorf("has %d bytes, more than %d; show less", len(text), largest)
	}
	var n notebook
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	ran := 0
	for i, cell := range n.Cells {
		if cell.Type != "code" {
			continue
		}
		if cell.Execution == nil {
			return fmt.Errorf("cell %d was not executed; run make notebooks-update", i)
		}
		ran++
		if strings.Contains(joined(cell.Source), "%%\n") && len(cell.Outputs) == 0 {
			return fmt.Errorf("cell %d shows nothing", i)
		}
		for _, o := range cell.Outputs {
			// What does not compile is an HTML page of the compiler's messages.
			if o.Type == "error" || o.Name == "stderr" || bytes.Contains(o.Data, []byte("gonb-err")) {
				return fmt.Errorf("cell %d failed:\n%s%s", i, joined(o.Text), o.Data)
			}
		}
	}
	if ran == 0 {
		return errors.New("has no code")
	}
	return nil
}

// joined is a text of a notebook, which is a string or a list of lines.
func joined(raw json.RawMessage) string {
	var lines []string
	if json.Unmarshal(raw, &lines) == nil {
		return strings.Join(lines, "")
	}
	return string(raw)
}
