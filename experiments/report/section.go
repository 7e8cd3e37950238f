package report

import (
	"strings"

	"calibra/data"
	"calibra/experiments/verdict"
)

// Document is a report: what was found, and how.
type Document struct {
	Title string
	Intro string
	// Verdict says what to do, with a statement for each data set. Every format shows it
	// first.
	Verdict []Statement
	Card    *Drawing // of the verdict; nil for none
	// Head describes where the page comes from: command, program, data, machine, date; it stands at
	// the foot. As these differ from run to run, no other format than HTML has them.
	Head     []Fact
	Files    []string // beside the page, which links to them
	Sections []*Section
	Failures []string // what could not be computed, a line each
	Folder   string   // of the figures, in the document's directory; "" means figures
	Facts    []Fact   // how the numbers were made, the footer
	Terminal []Part   // what a terminal shows of it, below the verdict
}

// Part is some of a document: a table of its sections, and lines below it.
type Part struct {
	Table *Table
	Lines []string
}

// Show adds a section whose tables and lines a terminal shows too.
func (d *Document) Show(s *Section) {
	d.Sections = append(d.Sections, s)
	parts := data.Each(s.Tables, func(t *Table) Part { return Part{Table: t} })
	if parts == nil {
		parts = []Part{{}}
	}
	parts[len(parts)-1].Lines = s.Lines
	d.Terminal = append(d.Terminal, parts...)
}

// Statement is a finding about one thing, and the commands that follow from it.
type Statement struct {
	Title    string // what it is about; "" where there is but one
	Lines    []string
	Commands []string
	Notes    []verdict.Note // that the command tells besides
	Say      verdict.Say    // "" where it is no verdict
}

// Sign is that of the answer, "" where it is none.
func (s Statement) Sign() string { return answers[s.Say].sign }

// Class is the answer as a page's style calls it.
func (s Statement) Class() string { return strings.ReplaceAll(string(s.Say), " ", "-") }

// Section is a part of a Document; any of its parts may be missing.
type Section struct {
	Title   string
	Note    string
	Tables  []*Table
	Lines   []string // what was found besides
	Figures []*Drawing
}

// Drawing is a figure in a Document. Its files begin with its name.
type Drawing struct {
	Name    string
	Caption string
	Figure  *Figure
}

// Fact is a line of the head or the footer.
type Fact struct{ Name, Value string }

// Stated is a verdict as a page shows it.
func Stated(v *verdict.Verdict) Statement {
	s := Statement{Title: v.Data, Lines: v.Text(), Commands: v.Commands, Say: v.Say}
	if v.Notes != nil {
		s.Notes = *v.Notes
	}
	return s
}
