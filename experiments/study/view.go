package study

import (
	"context"
	"fmt"

	"calibra/experiments/report"
)

// View is one part of a study's report. It returns nil where the findings have
// nothing for it. If ctx is cancelled, one that takes long stops, and its error wraps
// ctx.Err().
type View func(context.Context, *Findings) (*report.Section, error)

// figures is a view of figures: those that draw makes of each subject, none where it has nothing to show.
func figures(title, note string, draw func(*Findings, *subject) []*report.Drawing) View {
	return func(_ context.Context, f *Findings) (*report.Section, error) {
		section := &report.Section{Title: title, Note: note}
		for _, s := range f.subjects() {
			section.Figures = append(section.Figures, draw(f, s)...)
		}
		return section, nil
	}
}

// tables is a view of tables.
func tables(title, note string, list func(*Findings) []*report.Table) View {
	return func(_ context.Context, f *Findings) (*report.Section, error) {
		return &report.Section{Title: title, Note: note, Tables: list(f)}, nil
	}
}

// drawing is a figure of the subject. Its name ends in that of the subject, for which %s stands in the caption.
func (s *subject) drawing(name, caption string, figure *report.Figure) *report.Drawing {
	return &report.Drawing{Name: name + "-" + s.slug(), Caption: fmt.Sprintf(caption, s.Title()), Figure: figure}
}
