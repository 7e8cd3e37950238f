package report

import (
	"bytes"
	"strings"
	"testing"

	"calibra/experiments/metrics"
)

// TestNoWordIsBroken: where words are longer than their column has room for, in 60 letters too, each stays whole.
func TestNoWordIsBroken(t *testing.T) {
	path := "runs/" + strings.Repeat("a-long-name/", 5) + "report.html"
	list := &Table{Labels: []string{"where"}, Values: []Head{{Text: "NLL"}, {Text: "what", Wrap: true}}}
	list.Add("", Row{Labels: []string{"intersections of misunderstandings"}, Cells: Texts("0.123", "wrote "+path+" of an uncharacteristically long name")})
	var text bytes.Buffer
	Screen{Width: 60}.Write(&text, Part{Table: list})
	for _, word := range []string{"intersections", "misunderstandings", path, "uncharacteristically"} {
		if !strings.Contains(text.String(), word) {
			t.Errorf("%q is broken:\n%s", word, text.String())
		}
	}
}

// TestFolded: a p and a share stay on one line with their numbers.
func TestFolded(t *testing.T) {
	if got, want := Folded("it lowers it (95 % .1 to .2, p = 0.06)", 30), "it lowers it (95 % .1 to .2,\np = 0.06)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTableWidths: columns go by their drop, then text is broken between words.
func TestTableWidths(t *testing.T) {
	list := &Table{Labels: []string{"Method"}, Values: []Head{{Text: "NLL"}, {Text: "ECE", Drop: 1}, {Text: "what", Wrap: true}}}
	list.Add("", Row{Labels: []string{"vq"}, Cells: []Cell{{Text: "0.123", Mark: metrics.Best}, {Text: "0.001"}, {Text: "the quick brown fox jumps over the lazy dog"}}})
	for _, c := range []struct {
		width  int
		styled bool
		want   string
	}{
		{80, false, "method    NLL    ECE  what\nvq      0.123  0.001  the quick brown fox jumps over the lazy dog\n"},
		{60, false, "method    NLL  what\nvq      0.123  the quick brown fox jumps over the lazy dog\n"},
		{40, false, "method    NLL  what\nvq      0.123  the quick brown fox jumps\n               over the lazy dog\n"},
		{80, true, "\x1b[2mmethod\x1b[0m    \x1b[2mNLL\x1b[0m    \x1b[2mECE\x1b[0m  \x1b[2mwhat\x1b[0m\nvq      \x1b[1m0.123\x1b[0m  0.001  the quick brown fox jumps over the lazy dog\n"},
	} {
		var text bytes.Buffer
		Screen{c.width, c.styled}.Write(&text, Part{Table: list})
		if got := text.String(); got != c.want && strings.ReplaceAll(got, " \n", "\n") != c.want {
			t.Errorf("in %d columns: got\n%q, want\n%q", c.width, got, c.want)
		}
	}
}
