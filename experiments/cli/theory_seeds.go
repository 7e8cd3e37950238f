package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/program"
	"calibra/graph/work"
	"calibra/theory"
)

// underSeeds runs the studies under many seeds. The rows of each seed are a file of --out, so that
// an interrupted run goes on where it was. A seed whose run ends with an error stops no other.
func (c *theoryCmd) underSeeds(ctx context.Context, t *terminal, studies []theory.Study, settings theory.Settings) error {
	if c.Out == "" {
		return data.Inputf("", "many seeds write a file each: give --out DIR")
	}
	run, err := newSeedRun(studies, settings.Effort, c.Own)
	if err != nil {
		return err
	}
	kept, err := run.keptOf(c.Seeds, t, c.Out) // before the first hour of work
	if err != nil {
		return err
	}
	if err := disk.MkdirAll(c.Out); err != nil {
		return err
	}
	var all theory.Seeds
	ctx, bar := t.steps(ctx, 0)
	defer bar.clear()
	for i, seed := range c.Seeds {
		within := work.Span(ctx, fmt.Sprintf("%d of %d seeds", i, len(c.Seeds)), float64(i)/float64(len(c.Seeds)), float64(i+1)/float64(len(c.Seeds)))
		settings.Seed = seed
		rows := kept[i]
		if rows == nil {
			rows, err = runAll(within, studies, settings)
			if ctx.Err() != nil {
				return err
			}
			if err != nil {
				all.Aborted = append(all.Aborted, theory.Abort{Seed: seed, Why: err})
			} else if err := run.keep(c.Out, seed, rows); err != nil {
				return err
			}
		}
		if rows != nil {
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

// seedRun is what the rows of a seed were computed with, beside the seed. It stands in
// seed-N.json, the rows in seed-N.csv.
type seedRun struct {
	Studies []string        `json:"studies"`
	Effort  string          `json:"effort"`       // "fast" or "complete"
	Own     ownRate         `json:"own,omitzero"` // of study rate alone
	Program program.Program `json:"program"`
}

func newSeedRun(studies []theory.Study, effort theory.Effort, own ownRate) (r seedRun, err error) {
	r = seedRun{Studies: data.Each(studies, studyName), Effort: "complete", Own: own}
	if effort == theory.Quick {
		r.Effort = "fast"
	}
	r.Program, err = program.ThisProgram()
	return r, err
}

func (r seedRun) String() string {
	words := strings.Join(r.Studies, " ") + ", " + r.Effort
	if r.Own.given() {
		words += ", with a design or map of its own"
	}
	return words
}

// files of a seed's rows and of what they were computed with.
func (seedRun) files(dir string, seed uint64) (rows, run string) {
	name := filepath.Join(dir, fmt.Sprintf("seed-%d", seed))
	return name + ".csv", name + ".json"
}

// keptOf reads the rows that dir holds of each of the seeds, nil where they are to be computed, and
// counts those that are stale.
func (r seedRun) keptOf(seeds []uint64, t *terminal, dir string) (kept [][]theory.Row, err error) {
	kept = make([][]theory.Row, len(seeds))
	stale := 0
	for i, seed := range seeds {
		old := false
		if kept[i], old, err = r.kept(dir, seed); err != nil {
			return nil, err
		}
		if old {
			stale++
		}
	}
	if stale > 0 {
		t.note("the rows of %d of %d seeds in %s are of another program; they are computed again", stale, len(seeds), dir)
	}
	return kept, nil
}

// kept reads the rows that dir holds of a seed; nil if there are none, or if they are stale,
// those of another program. Rows of another run are an *InputError.
func (r seedRun) kept(dir string, seed uint64) (rows []theory.Row, stale bool, err error) {
	path, beside := r.files(dir, seed)
	file, err := data.OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	var made seedRun
	text, err := data.ReadConfiguration(beside)
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		return nil, false, data.Inputf(path, "does not tell what it was computed with (%w); delete it, or give another --out", err)
	}
	stale, made.Program = !made.Program.Same(r.Program), r.Program
	if !reflect.DeepEqual(made, r) {
		return nil, false, data.Inputf(path, "holds rows of another run (%v); give another --out for this one (%v), or delete the file", made, r)
	}
	if stale {
		return nil, true, nil
	}
	if rows, err = theory.ReadCSV(file); err != nil {
		return nil, false, data.Inputf(path, "%w", err)
	}
	return rows, false, nil
}

// keep writes the rows of a seed. Stale ones go first and the rows come last: wherever it is
// interrupted, rows stand beside what they were computed with.
func (r seedRun) keep(dir string, seed uint64, rows []theory.Row) error {
	path, beside := r.files(dir, seed)
	if err := disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := disk.WriteBytes(beside, append(text, '\n')); err != nil {
		return err
	}
	return disk.WriteFile(path, func(w io.Writer) error { return theory.WriteCSV(w, rows) })
}
