package parquet

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"
)

// A date is stored as days since 1970, a moment as thousandths, millionths or billionths of a second since then, a
// decimal as a whole number of so many decimals (LogicalTypes.md of the format).

// Text is a value of a column of dates, moments, decimals, truth values or other numbers, as words for it: 2025-03-01,
// 2025-03-01T12:30:00, 1.50, true, 7.
func (c *Column) Text(v float64) string {
	switch c.Kind {
	case Date:
		return DateText(time.Unix(int64(v)*86400, 0))
	case Moment:
		return DateText(time.UnixMicro(int64(math.Round(v * (1e6 / float64(c.unit))))))
	case Decimal:
		return strconv.FormatFloat(v, 'f', c.scale, 64)
	case Truth:
		return strconv.FormatBool(v != 0)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// DateText is a moment in UTC to the microsecond, without digits that are 0 at the end, nor a time of day at midnight.
func DateText(t time.Time) string {
	if t = t.UTC().Round(time.Microsecond); t.Truncate(24 * time.Hour).Equal(t) {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02T15:04:05.999999")
}

// decimal is the number of a big-endian whole number with sign and of so many decimals.
func decimal(b []byte, scale int) float64 {
	whole := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 128 {
		whole.Sub(whole, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	v, _ := new(big.Float).SetInt(whole).Float64()
	return v / math.Pow10(scale)
}

// julian1970 is the day 1970-01-01 in Julian days, by which an int96 counts, behind the nanoseconds of the day.
const julian1970 = 2440588

// bytes is the number of a value that is not a whole number in little endian of up to eight bytes.
func (c *Column) bytes(b []byte) float64 {
	switch {
	case c.physical == typeInt96:
		return float64(int64(little(b[8:]))-julian1970)*86400e9 + float64(little(b[:8]))
	case c.physical == typeFixedLenByteArray && c.Kind == Decimal:
		return decimal(b, c.scale)
	}
	v := c.number(little(b))
	if c.Kind == Decimal {
		v /= math.Pow10(c.scale)
	}
	return v
}

// whole reports whether values are stored as whole numbers.
func (c *Column) whole() bool { return slices.Contains([]Kind{Integer, Date, Moment}, c.Kind) }
