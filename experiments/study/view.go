package study

import (
	"fmt"

	"calibra/experiments/report"
)

// View is one part of a study's report; nil where the findings have nothing for it.
type View func(*Findings) *report.Section

// figures is a view of figures: those that draw makes of each subject, none where it has nothing to show.
func figures(title, note string, draw func(*Findings, *subject) []*report.Drawing) View {
	return func(f *Findings) *report.Section {
		section := &report.Section{Title: title, Note: note}
		for _, s := range f.subjects() {
			section.Figures = append(section.Figures, draw(f, s)...)
		}
		return section
	}
}

// tables is a view of tables.
func tables(title, note string, list func(*Findings) []*report.Table) View {
	return func(f *Findings) *report.Section {
		return &report.Section{Title: title, Note: note, Tables: list(f)}
	}
}

// drawing is a figure of the subject, none of nil. Its name ends in that of the subject, for which %s stands in the
// caption.
func (s *subject) drawing(name, caption string, figure *report.Figure) []*report.Drawing {
	if figure == nil {
		return nil
	}
	return []*report.Drawing{{Name: name + "-" + s.slug(), Caption: fmt.Sprintf(caption, s.Title()), Figure: figure}}
}
