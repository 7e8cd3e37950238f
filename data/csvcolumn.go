package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// csvColumn is what has been read of a column of a raw csv file, numbers or text.
type csvColumn struct {
	numbers numbers
	words   map[string]uint16 // the first mostValues different fields, by their place in order
	order   []string
	codes   []uint16 // N places; nil where there are more fields
	many    bool     // there are

	fields           int    // N
	numeric, missing int    // those that are
	decimal          bool   // some number is
	text             string // the first field that is neither
	row              int    // of it
	undated          bool   // some of these are no date
}

// mostValues is how many values a column of text may have: each is a number that a network reads.
const mostValues = 256

// missingWords stand for a number that is missing.
var missingWords = []string{"", "?", "na", "n/a", "nan", "null"}

func missing(field string) bool {
	return len(field) < 5 && slices.Contains(missingWords, strings.ToLower(field))
}

// add is the number in a field, of row n and without spaces around it: NaN of text and where it is missing. A number
// may be too large.
func (c *csvColumn) add(field string, n int) (v float64, finite bool) {
	c.fields++
	c.record(field)
	if missing(field) {
		c.missing++
		return math.NaN(), true
	}
	v, err := c.numbers.parse(field)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && math.IsInf(v, 0):
		return 0, false
	case err == nil:
		c.numeric++
		c.decimal = c.decimal || v != math.Trunc(v)
		return v, true
	case c.text == "":
		c.text, c.row = strings.Clone(field), n
	}
	c.undated = c.undated || !isDate(field)
	return math.NaN(), true
}

// record keeps the field's place among the different ones.
func (c *csvColumn) record(field string) {
	if c.many {
		return
	}
	k, known := c.words[field]
	if !known {
		if c.many = len(c.order) == mostValues; c.many {
			c.codes = nil
			return
		}
		k = uint16(len(c.order))
		field = strings.Clone(field)
		c.words[field], c.order = k, append(c.order, field)
	}
	c.codes = append(c.codes, k)
}

// fewNumbers are how many different whole numbers may be the names of categories.
const fewNumbers = 32

// quantity reports whether a column with text is one of numbers, most of its fields, that are no names of categories.
func (c *csvColumn) quantity() bool {
	whole := slices.DeleteFunc(slices.Clone(c.order), func(w string) bool { return !numeric([]string{w}) })
	return 2*c.numeric > c.fields-c.missing && (c.many || c.decimal || len(whole) > fewNumbers)
}

// dated reports whether all its text is dates.
func (c *csvColumn) dated() bool { return c.text != "" && !c.undated }

// notice is what is odd about a column of text, "" if nothing is.
func (c *csvColumn) notice(name string) string {
	switch n := c.fields; {
	case c.dated():
		return fmt.Sprintf("column %s holds dates, as %q, each read as a separate value; write them as numbers, such as days since the first, or leave it out", name, c.text)
	case len(c.order) > n/2 && n >= manyRows:
		return fmt.Sprintf("column %s has %d values in %d rows and looks like an identifier; leave it out", name, len(c.order), n)
	case c.numeric > n/2:
		return fmt.Sprintf("column %s holds numbers and %q in row %d, and is read as text of %d values; mend the row if it is meant to be numbers", name, c.text, c.row, len(c.order))
	}
	return ""
}

// dateForms are how dates are written, with or without a time of day.
var dateForms = []string{"2006-01-02", "2006-1-2", "2006/1/2", "1/2/2006", "2/1/2006", "2.1.2006", "2-Jan-2006", "2 Jan 2006", "Jan 2, 2006"}

// isDate reports whether a field is a date.
func isDate(field string) bool {
	if len(field) < 8 || len(field) > 40 {
		return false
	}
	day := field
	if at := strings.IndexByte(field, ':'); at > 2 { // of the time
		if day = strings.TrimRight(field[:at], "0123456789"); len(day) > 0 {
			day = day[:len(day)-1]
		}
	}
	return slices.ContainsFunc(dateForms, func(form string) bool {
		_, err := time.Parse(form, day)
		return err == nil
	})
}
