package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"calibra/data"
	"calibra/experiments/program"
	"calibra/experiments/report"
	"calibra/experiments/verdict"

	"golang.org/x/term"
)

// terminal is where a command prints: results on out, notes and progress on err.
type terminal struct {
	out, err *os.File
	quiet    bool           // neither notes nor progress
	bar      *steps         // how far the command is; nil: nobody is shown
	said     []verdict.Note // what is told of the rows and the fit
	end      string         // the last two characters that were printed
	failed   error
}

// width is how many characters a line of f has room for: COLUMNS, or as many as the terminal has. A file or a pipe
// has room for all.
func width(f *os.File) int {
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return math.MaxInt
}

// interactive reports whether f is a terminal.
func interactive(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// styled reports whether f may be sent bold and dim: a terminal, and no NO_COLOR (no-color.org).
func styled(f *os.File) bool {
	return interactive(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// note prints a line that is no result, on a terminal as wide as that; nothing of "".
func (t *terminal) note(format string, args ...any) {
	text := data.Lines(fmt.Sprintf(format, args...))
	if w := width(t.err); w < math.MaxInt {
		text = report.Folded(text, w)
	}
	if t.bar.hide(); !t.quiet && text != "" {
		fmt.Fprintln(t.err, text)
	}
}

// warn prints a line that the user must see, even with --quiet; JSON has it as a note.
func (t *terminal) warn(key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.warnAs(verdict.Note{Key: key, Text: strings.TrimPrefix(text, "warning: ")}, text)
}

// warnAs is warn of a line that names a file too.
func (t *terminal) warnAs(n verdict.Note, line string) {
	t.said = append(t.said, verdict.Note{Key: n.Key, Text: data.Lines(n.Text)})
	t.bar.hide()
	fmt.Fprintln(t.err, data.Lines("calibra: "+line))
}

// remark is note of what JSON has too.
func (t *terminal) remark(key, format string, args ...any) {
	t.said = append(t.said, verdict.Note{Key: key, Text: data.Lines(fmt.Sprintf(format, args...))})
	t.note(format, args...)
}

// noted is the JSON of an object with the notes at its end; other values stay as they are.
func (t *terminal) noted(object []byte) ([]byte, error) {
	if t.said == nil || !bytes.HasPrefix(object, []byte("{")) {
		return object, nil
	}
	notes, err := json.Marshal(t.said)
	if err != nil {
		return nil, err
	}
	head := bytes.TrimSuffix(bytes.TrimSpace(object), []byte("}"))
	if !bytes.HasSuffix(head, []byte("{")) {
		head = append(head, ',')
	}
	return fmt.Appendf(head, `"notes":%s}`, notes), nil
}

// print writes a result in one piece: one that a full disk cuts short is an error. It stays, nothing is printed after
// it, and whatever prints next returns it too, so that a command need check the last error alone.
func (t *terminal) print(text []byte) error {
	if t.bar.hide(); t.failed == nil {
		if _, err := io.WriteString(t.out, harmless(string(text))); err != nil {
			t.failed = fmt.Errorf("the results could not be printed: %w", err)
		}
		t.end += string(text)
		t.end = t.end[max(0, len(t.end)-2):]
	}
	return t.failed
}

// styles are what a table sends a terminal for the looks of its cells.
var styles = regexp.MustCompile(`\x1b\[[0124]m`)

// harmless is text in which a terminal finds nothing to obey but the looks of cells.
func harmless(text string) string {
	var b strings.Builder
	codes := styles.FindAllString(text, -1)
	for i, part := range styles.Split(text, -1) {
		b.WriteString(data.Lines(part))
		if i < len(codes) {
			b.WriteString(codes[i])
		}
	}
	return b.String()
}

// printf is print of a formatted text.
func (t *terminal) printf(format string, args ...any) error {
	return t.print(fmt.Appendf(nil, format, args...))
}

// closing prints what a command wrote, and its last line, which is its result; both are broken between words where the
// terminal is narrow. An empty line parts them from what stands above.
func (t *terminal) closing(result string, wrote ...string) error {
	var text string
	if t.end != "" && t.end != "\n\n" {
		text = "\n"
	}
	for _, what := range wrote {
		text += report.Folded("wrote "+what, width(t.out)) + "\n"
	}
	return t.printf("%s%s\n", text, report.Folded(result, width(t.out)))
}

// briefly is what verdicts say, in a line.
func briefly(all []*verdict.Verdict) string {
	return strings.Join(data.Each(all, func(v *verdict.Verdict) string {
		if v.Data != "" {
			return v.Data + ": " + v.Brief()
		}
		return v.Brief()
	}), "; ")
}

// tables prints tables for the width of the terminal, an empty line between them.
func (t *terminal) tables(tables ...*report.Table) error {
	return t.parts(data.Each(tables, func(of *report.Table) report.Part { return report.Part{Table: of} })...)
}

// parts prints parts of a document for the width of the terminal, an empty line between them.
func (t *terminal) parts(parts ...report.Part) error {
	var text bytes.Buffer
	dropped := report.Screen{Width: width(t.out), Styled: styled(t.out)}.Write(&text, parts...)
	if err := t.print(text.Bytes()); err != nil {
		return err
	}
	if dropped != nil {
		t.note("a line is too short for %s; --json has all columns", strings.Join(dropped, ", "))
	}
	return nil
}

// document prints what a terminal shows of a document: the verdict and, below it, the parts.
func (t *terminal) document(d *report.Document) error {
	t.statements(d.Verdict)
	return t.parts(d.Terminal...)
}

// json prints v as indented JSON.
func (t *terminal) json(v any) error {
	var plain, text bytes.Buffer
	out := json.NewEncoder(&plain)
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		return err
	}
	noted, err := t.noted(plain.Bytes())
	if err != nil {
		return err
	}
	if err := json.Indent(&text, noted, "", "  "); err != nil {
		return err
	}
	return t.print(append(bytes.TrimSpace(text.Bytes()), '\n'))
}

// statements prints what to do with what was found, a paragraph for each data set, before what shows it.
func (t *terminal) statements(all []report.Statement) error {
	for _, s := range all {
		var text strings.Builder
		if s.Title != "" {
			text.WriteString(s.Title + "\n")
		}
		for _, line := range s.Lines {
			text.WriteString(report.Folded(line, width(t.out)) + "\n")
		}
		for _, command := range s.Commands {
			text.WriteString("  " + continued(program.Called(command), width(t.out)-2) + "\n")
		}
		t.print([]byte(text.String() + "\n"))
	}
	return t.failed
}

// continued is a command, before its flags broken into lines that a shell takes for one where it is wider than width.
func continued(command string, width int) string {
	if utf8.RuneCountInString(command) <= width {
		return command
	}
	return strings.Join(strings.Split(command, " --"), " \\\n      --")
}

// relative is the path from the working directory where that is below it, else as it is.
func relative(path string) string {
	at, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(at, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}
