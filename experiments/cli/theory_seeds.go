package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"calibra/data"
	"calibra/theory"
)

// seeds runs the studies under many seeds. The rows of each seed are a file of --out, so that
// an interrupted run goes on where it was.
func (c *theoryCmd) seeds(ctx context.Context, studies []theory.Study, settings theory.Settings) error {
	if c.Out == "" {
		return usageError{fmt.Errorf("many seeds write a file each: give --out DIR")}
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return err
	}
	var all theory.Seeds
	for i := range c.Seeds {
		settings.Seed = c.Seed + uint64(i)
		path := filepath.Join(c.Out, fmt.Sprintf("seed-%d.csv", settings.Seed))
		rows, err := readRows(path)
		if err != nil {
			return err
		}
		if rows == nil {
			for _, study := range studies {
				r, err := study.Run(ctx, settings)
				if err != nil {
					return err
				}
				rows = append(rows, r.Rows...)
			}
			if err := data.WriteFile(path, func(w io.Writer) error { return theory.WriteCSV(w, rows) }); err != nil {
				return err
			}
		}
		all.Add(settings.Seed, rows)
		fmt.Fprintf(os.Stderr, "seed %d: %d of %d\n", settings.Seed, i+1, c.Seeds)
		if err := data.WriteFile(filepath.Join(c.Out, "seeds.md"), all.Markdown); err != nil {
			return err
		}
	}
	return all.Markdown(os.Stdout)
}

// readRows reads the rows that a run wrote; nil if there is no such file.
func readRows(path string) ([]theory.Row, error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := theory.ReadCSV(file)
	if err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	return rows, nil
}
