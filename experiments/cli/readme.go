package cli

import (
	"fmt"
	"strings"

	"calibra/data/disk"
	"calibra/experiments/results"
)

type readmeCmd struct {
	Check bool   `help:"Write nothing; fail and say what is stale."`
	Root  string `default:"." type:"existingdir" placeholder:"DIR" help:"Root of the repository (${default})."`
}

func (c *readmeCmd) Run(t *terminal) error {
	files, err := results.Generate(c.Root)
	if err != nil {
		return err
	}
	var stale []string
	for _, f := range files {
		if f.Stale == nil {
			continue
		}
		stale = append(stale, fmt.Sprintf("%s: %s", f.Path, strings.Join(f.Stale, ", ")))
		if c.Check {
			continue
		}
		if err := disk.WriteBytes(f.Path, f.Content); err != nil {
			return err
		}
	}
	if c.Check && stale != nil {
		return fmt.Errorf("not what the result files say: %s; run calibra readme", strings.Join(stale, "; "))
	}
	for _, s := range stale {
		t.printf("wrote %s\n", s)
	}
	return t.failed
}
