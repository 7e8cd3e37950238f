package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"calibra/data"
	"calibra/data/disk"
	"calibra/theory"
)

// underSeeds runs the studies under many seeds, and writes their table after each. A seed whose run ends with an error
// stops no other.
func (c *theoryCmd) underSeeds(ctx context.Context, t *terminal, studies []theory.Study, settings theory.Settings) error {
	if c.Out == "" {
		return data.Inputf("", "many seeds write a table: give --out DIR")
	}
	if err := disk.MkdirAll(c.Out); err != nil {
		return err
	}
	var all theory.Seeds
	bar := t.progress()
	for i, seed := range c.Seeds {
		bar.at(float64(i), float64(len(c.Seeds)), fmt.Sprintf("%d of %d seeds", i, len(c.Seeds)))
		settings.Seed = seed
		rows, err := runAll(ctx, studies, settings)
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil:
			all.Aborted = append(all.Aborted, theory.Abort{Seed: seed, Why: err})
		default:
			all.Add(seed, rows)
		}
		if err := disk.WriteFile(filepath.Join(c.Out, "seeds.md"), all.Markdown); err != nil {
			return err
		}
	}
	bar.clear()
	return c.printSeeds(t, &all)
}

// printSeeds prints how often each row fell outside its band.
func (c *theoryCmd) printSeeds(t *terminal, all *theory.Seeds) (err error) {
	if c.JSON {
		err = t.json(all)
	} else {
		err = all.Markdown(t.out)
	}
	if err != nil {
		return err
	}
	if n := len(all.Aborted); n > 0 {
		return fmt.Errorf("the studies ended with an error under %d of %d seeds; the others are in %s", n, len(c.Seeds), c.Out)
	}
	return nil
}

// runAll gives the rows of all studies; none where one of them ends with an error.
func runAll(ctx context.Context, studies []theory.Study, settings theory.Settings) (rows []theory.Row, err error) {
	for _, study := range studies {
		r, err := study.Run(ctx, settings)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r.Rows...)
	}
	return rows, nil
}
