package data

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

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
	if err == nil {
		return v, nil
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
