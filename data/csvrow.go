package data

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// longestRow is how many bytes a row of a csv file may have: one of 200,000 numbers of
// twenty digits has fewer. A package that reads a row as one would hold a file without a
// line's end whole, many times over.
const longestRow = 4 << 20

// rowLimit is r up to a row that is longer than longestRow, where reading ends with an
// error. A line's end between quotes ends no row.
type rowLimit struct {
	r      io.Reader
	length int // of the row so far
	quoted bool
}

func (l *rowLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		stop := bytes.IndexByte(rest, '\n')
		if quote := bytes.IndexByte(rest, '"'); quote >= 0 && (stop < 0 || quote < stop) {
			stop, l.quoted = quote, !l.quoted
			l.length += stop + 1
		} else if stop < 0 {
			stop = len(rest) - 1
			l.length += len(rest)
		} else if l.length += stop + 1; !l.quoted {
			l.length = 0
		}
		if l.length > longestRow {
			return n, fmt.Errorf("a row has more than %d MB; no quotation mark may be left open, and every row needs a line of its own", longestRow>>20)
		}
		rest = rest[stop+1:]
	}
	return n, err
}

// records are the rows of a csv file, each in the memory of the one before.
type records struct {
	*csv.Reader
	path    string
	skipped int // lines before the first row
}

// delimiters may part the fields of a row: the one that the first line has most of does, of several
// the first of these.
var delimiters = "\t;|,"

// newRecords reads the csv file r at path. Lines before its header that begin with # are skipped,
// or the # alone of one that is the header: named tells, by its fields. Without named, no line may
// begin so. A line sep=; names what parts the fields, as spreadsheets take it.
func newRecords(path string, r io.Reader, named func(header []string) bool) (*records, error) {
	r, err := csvText(path, r)
	if err != nil {
		return nil, err
	}
	text := bufio.NewReaderSize(&rowLimit{r: r}, 1<<16)
	out := &records{path: path}
	delimiter := rune(0)
	for {
		line := firstLine(text)
		rest, comment := strings.CutPrefix(line, "#")
		said, isSaid := strings.CutPrefix(strings.TrimSpace(line), "sep=")
		switch {
		case isSaid && len(said) == 1 && strings.Contains(delimiters, said):
			delimiter = rune(said[0])
		case comment && named == nil:
			return nil, Inputf(path, "begins with a line of #; take the line out, or the # alone where it is the header")
		case comment && named(split(rest)):
			_, _ = text.Discard(1)
			fallthrough
		default:
			if delimiter == 0 {
				delimiter = delimiterOf(line)
			}
			out.Reader = csv.NewReader(text)
			out.Comma, out.ReuseRecord, out.TrimLeadingSpace = delimiter, true, delimiter != '\t'
			return out, nil
		case comment, strings.TrimSpace(line) == "" && line != "":
		}
		if _, err := text.ReadString('\n'); err != nil { // the next line is none, and Read says why
			line = ""
		}
		out.skipped++
	}
}

// firstLine is the next line as far as it is buffered, with its end; "" behind the last.
func firstLine(text *bufio.Reader) string {
	for n := 256; ; n *= 2 {
		start, err := text.Peek(min(n, text.Size()))
		if end := bytes.IndexByte(start, '\n'); end >= 0 {
			return string(start[:end+1])
		}
		if err != nil || n >= text.Size() {
			return string(start)
		}
	}
}

// delimiterOf is what parts the fields of a line.
func delimiterOf(line string) rune {
	counts, quoted := map[rune]int{}, false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted
		} else if !quoted {
			counts[c]++
		}
	}
	best := ','
	for _, d := range delimiters {
		if counts[d] > counts[best] || counts[d] == counts[best] && counts[d] > 0 && best == ',' {
			best = d
		}
	}
	return best
}

// split is about the fields of a line.
func split(line string) []string {
	delimiter := delimiterOf(line)
	return strings.FieldsFunc(line, func(c rune) bool { return c == delimiter || c == '"' })
}

// line is that of the last record in the file.
func (r *records) line() int {
	line, _ := r.FieldPos(0)
	return line + r.skipped
}

// each calls do with the records, and their numbers from 1, until one is an error, or a table of so
// many bytes a field has no room.
func (r *records) each(bytes float64, do func(n int, record []string) error) error {
	for n := 1; ; n++ {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return r.fault(record, err)
		}
		for _, field := range record {
			if !utf8.ValidString(field) {
				return Inputf(r.path, "line %d has %.40q, which is not UTF-8; save the file as UTF-8", r.line(), field)
			}
		}
		if err := do(n, record); err != nil {
			return err
		}
		if n%(1<<16) == 0 {
			if err := CheckRoom(r.path, "the table", n, bytes*float64(len(record)), "rows"); err != nil {
				return err
			}
		}
	}
}

// fault is the error of a row, in plain words.
func (r *records) fault(record []string, err error) error {
	var at *csv.ParseError
	var input *InputError
	switch {
	case errors.As(err, &input):
		return Inputf(r.path, "%w", input.Err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Inputf(r.path, "%w", truncated(err))
	case !errors.As(err, &at):
		return Inputf(r.path, "cannot be read: %w", err)
	case errors.Is(err, csv.ErrFieldCount) && strings.HasPrefix(record[0], "#"):
		return Inputf(r.path, "line %d begins with #; only lines before the header may be comments", at.Line+r.skipped)
	case errors.Is(err, csv.ErrFieldCount):
		return Inputf(r.path, "line %d has %s and the first row has %d, parted by %q; every row must have the same number", at.Line+r.skipped, fields(len(record)), r.FieldsPerRecord, r.Comma)
	case errors.Is(err, csv.ErrQuote), errors.Is(err, csv.ErrBareQuote):
		return Inputf(r.path, "line %d, column %d has a quotation mark that neither begins nor ends a field; double it within quotes, or take it out", at.Line+r.skipped, at.Column)
	}
	return Inputf(r.path, "cannot be read: %w", err)
}

func fields(n int) string {
	if n == 1 {
		return "1 field"
	}
	return fmt.Sprint(n, " fields")
}

// numbers reads the numbers of a csv file. Their decimal mark is a point or, where something else than
// a comma parts the fields, a comma: the same in the whole file.
type numbers struct {
	commas       bool   // a comma may be the decimal mark
	point, comma string // the first number of each mark
	certain      bool   // some comma cannot part thousands
}

// decimalComma is a number with a comma, thousands one whose comma may part them.
var decimalComma, thousands = regexp.MustCompile(`^[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?$`), regexp.MustCompile(`^[+-]?[1-9][0-9]{0,2},[0-9]{3}$`)

var errNumber = errors.New("no number")

// parse is the number in a field without spaces around it. The minus may be that of typesetters.
func (n *numbers) parse(field string) (float64, error) {
	v, err := strconv.ParseFloat(field, 64)
	if err == nil && n.commas && n.point == "" && strings.Contains(field, ".") {
		n.point = strings.Clone(field)
	}
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return v, err
	}
	if plain := strings.Replace(field, "\u2212", "-", 1); plain != field {
		return n.parse(plain)
	}
	if !n.commas || !decimalComma.MatchString(field) {
		return 0, errNumber
	}
	if n.comma == "" {
		n.comma = strings.Clone(field)
	}
	n.certain = n.certain || !thousands.MatchString(field)
	return strconv.ParseFloat(strings.Replace(field, ",", ".", 1), 64)
}

// with adds what the numbers of another column say.
func (n *numbers) with(o numbers) {
	n.point, n.comma, n.certain = cmp.Or(n.point, o.point), cmp.Or(n.comma, o.comma), n.certain || o.certain
}

// check returns an *InputError where the numbers of the file at path may mean something else.
func (n *numbers) check(path string) error {
	switch {
	case n.comma == "":
		return nil
	case n.point != "":
		return Inputf(path, "has numbers with a comma, as %s, and with a point, as %s; write all with a point, and no mark between thousands", n.comma, n.point)
	case !n.certain:
		return Inputf(path, "has numbers as %s, whose comma may be a decimal mark or part thousands; write them with a point, and no mark between thousands", n.comma)
	}
	return nil
}
