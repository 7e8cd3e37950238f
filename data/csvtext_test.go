package data

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
)

const plainCSV = "logit_0,logit_1,label,set\n0.5,-1.25,a,cal\n2,3.5,b,cal\n0,1e0,a,test\n"

// wide is text in UTF-16, of little endian or big, behind the mark of byte order where there is one.
func wide(text string, big bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		if big {
			u = u<<8 | u>>8
		}
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// TestSpellingsOfCSV: all of these are one and the same table.
func TestSpellingsOfCSV(t *testing.T) {
	semicolons := strings.ReplaceAll(plainCSV, ",", ";")
	z, _ := zstd.NewWriter(nil)
	bz2, _ := base64.StdEncoding.DecodeString(plainBzip2)
	for name, text := range map[string]string{
		"plain":                 plainCSV,
		"without a last end":    strings.TrimSuffix(plainCSV, "\n"),
		"CRLF":                  strings.ReplaceAll(plainCSV, "\n", "\r\n"),
		"CR":                    strings.ReplaceAll(plainCSV, "\n", "\r"),
		"mixed ends":            strings.Replace(strings.Replace(plainCSV, "\n", "\r", 1), "\n", "\r\n", 1),
		"mark of UTF-8":         "\ufeff" + plainCSV,
		"UTF-16 with mark":      wide("\ufeff"+plainCSV, false),
		"UTF-16 BE with mark":   wide("\ufeff"+plainCSV, true),
		"UTF-16":                wide(plainCSV, false),
		"UTF-16 BE":             wide(plainCSV, true),
		"semicolons":            semicolons,
		"decimal commas":        strings.ReplaceAll(semicolons, ".", ","),
		"tabs":                  strings.ReplaceAll(plainCSV, ",", "\t"),
		"bars":                  strings.ReplaceAll(plainCSV, ",", "|"),
		"sep=":                  "sep=;\n" + semicolons,
		"comments":              "# made by hand, 2026\n#\n" + plainCSV,
		"header behind #":       "# " + plainCSV,
		"header as of savetxt":  "# two classes\n# " + plainCSV,
		"blank lines":           "\n\n" + strings.ReplaceAll(plainCSV, "\n", "\n\n"),
		"capitals":              strings.Replace(plainCSV, "logit_0,logit_1,label,set", "LOGIT_0,Logit_1,Label,SET", 1),
		"capitals of sets":      strings.ReplaceAll(strings.ReplaceAll(plainCSV, "cal", "Cal"), "test", "TEST"),
		"spaces":                strings.ReplaceAll(plainCSV, ",", " , "),
		"no-break spaces":       strings.ReplaceAll(plainCSV, ",", "\u00a0,\u00a0"),
		"quotes":                `"` + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSuffix(plainCSV, "\n"), ",", `","`), "\n", "\"\n\"") + `"`,
		"minus of typesetters":  strings.ReplaceAll(plainCSV, "-", "\u2212"),
		"a comma behind each":   strings.ReplaceAll(plainCSV, "\n", ",\n"),
		"an index of pandas":    "," + strings.ReplaceAll(strings.TrimSuffix(plainCSV, "\n"), "\n", "\n7,"),
		"an index and a number": "Unnamed: 0," + strings.ReplaceAll(strings.TrimSuffix(plainCSV, "\n"), "\n", "\n7,"),
		"gzip":                  string(gzipped(t, []byte(plainCSV))),
		"zstd":                  string(z.EncodeAll([]byte(plainCSV), nil)),
		"bzip2":                 string(bz2),
	} {
		for _, end := range []string{".csv", ".csv.gz", ".TSV", ".csv.zst"} { // what it is, its bytes say
			s, err := Open(tempFile(t, "f"+end, []byte(text)))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			got := fmt.Sprint(s.Cal.Logits.RawMatrix().Data, s.Test.Logits.RawMatrix().Data, s.Cal.Labels, s.Test.Labels, s.Cal.Names.Classes)
			if got != "[0.5 -1.25 2 3.5] [0 1] [0 1] [0] [a b]" {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// plainBzip2 is plainCSV as the bz2 of Python 3 packs it; Go has no writer.
const plainBzip2 = "QlpoOTFBWSZTWYSDOcsAABxbgAAQAAd6AAAAuqSMACAAUKYTTQGmINU/RI9TD0kPU8onEXZilm0Pe1tY3LFQ8sUZDjWwyIU9VQ+EDfaOQXEUH/F3JFOFCQhIM5yw"

// TestOtherSpellings: what is no such table is refused by what it is.
func TestOtherSpellings(t *testing.T) {
	packed := gzipped(t, []byte(plainCSV+strings.Repeat("0.5,-1.25,a,cal\n", 300)))
	for want, text := range map[string]string{
		"packed with gzip and cut short":                           string(packed[:len(packed)/2]),
		"packed with gzip and cut short;":                          string(packed[:12]),
		"packed with gzip and damaged":                             string(append(slices.Clone(packed[:len(packed)-8]), make([]byte, 8)...)),
		"packed with zstd and":                                     "\x28\xb5\x2f\xfd\x04",
		"packed with xz":                                           "\xfd7zXZ\x00\x00",
		"is a 7z archive":                                          "7z\xbc\xaf\x27\x1c",
		"is text in UTF-32":                                        "\xff\xfe\x00\x00l\x00\x00\x00",
		"bytes of zero":                                            "logit_0\x00\x00\x01,2",
		"is a page of a web site":                                  "\n <!DOCTYPE html><html>",
		"is JSON":                                                  `{"logit_0": 1}`,
		"pointer of Git LFS":                                       "version https://git-lfs.github.com/spec/v1",
		"is a Python pickle":                                       "\x80\x04\x95",
		"with a comma, as 1,5, and with a point, as 0.25":          "logit_0;logit_1\n0.25;1,5\n",
		"may be a decimal mark or part thousands":                  "logit_0;logit_1\n1,250;2\n",
		"1,250.5\" at row 0, where a number":                       "logit_0;logit_1\n1,250.5;2\n",
		"column logit_1 has \"1,25\"":                              "logit_0,logit_1\n0,\"1,25\"\n",
		"column logit_1 has \"NA\"":                                "logit_0,logit_1\n0,NA\n",
		"parts its fields by spaces":                               "logit_0 logit_1 label\n0 1 2\n",
		"which is \"p0;p1;label\"":                                 "p0;p1;label\n0;3;2\n",
		"line 3 begins with #":                                     "logit_0,logit_1\n1,2\n# end\n",
		"line 4 has 3 fields and the first row has 2":              "# x\nlogit_0,logit_1\n1,2\n1,2,3\n",
		"line 3, column 2 has a quotation mark":                    "logit_0,logit_1\n1,2\n1\"\",2\n",
		"line 2 has \"caf\\xe9\", which is not UTF-8":              "logit_0,logit_1,label\n1,2,caf\xe9\n",
		"has no rows":                                              "logit_0,logit_1,label\n",
		"is empty":                                                 "",
		"two columns logit_0":                                      "logit_0,logit_1,logit_0\n1,2,3\n",
		"columns logit_0 and Logit_0, which are read":              "logit_0,logit_1,Logit_0\n1,2,3\n",
		"columns logit_1 and logits_1":                             "logit_0,logit_1,logits_1\n1,2,3\n",
		"columns label and labels":                                 "logit_0,logit_1,label,labels\n1,2,0,1\n",
		"two columns logit_\u00e9":                                 "logit_\u00e9,logit_a,logit_e\u0301\n1,2,3\n",
		"row 1, and other rows whose set is test have one (1 of 2": "logit_0,logit_1,label,set\n1,2,0,cal\n1,2,,test\n1,2,1,test\n",
	} {
		if _, err := Open(tempFile(t, "f.csv", []byte(text))); err == nil || !isInput(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestPackedOtherwise: a packed file by another name, and other tables by the name of csv.
func TestPackedOtherwise(t *testing.T) {
	if _, err := Open(tempFile(t, "f.npz", gzipped(t, []byte(plainCSV)))); err == nil || !strings.Contains(err.Error(), "is packed with gzip") {
		t.Errorf("got %v", err)
	}
	number := func(name string) *column { return &column{name: name, rows: 1, values: []float64{1}} }
	s, err := Open(tempFile(t, "f.csv", tableOf(t, writeParquet, number("logit_0"), number("logit_1"))))
	if err != nil || s.Test.Len() != 1 {
		t.Errorf("Parquet by the name of csv: %v", err)
	}
}

// TestRowsWithoutLabel: of a set whose rows all have none there are no labels, in every format.
func TestRowsWithoutLabel(t *testing.T) {
	for name, text := range map[string]string{
		"text":    "logit_a,logit_b,label,set\n1,2,b,cal\n2,1,a,cal\n1,2,,test\n1,2,NA,test\n",
		"numbers": "logit_0,logit_1,label,set\n1,2,1.0,cal\n2,1,0.0,cal\n1,2,,test\n1,2,nan,test\n",
	} {
		s, err := Open(tempFile(t, "f.csv", []byte(text)))
		if err != nil || fmt.Sprint(s.Cal.Labels) != "[1 0]" || s.Test.Labels != nil || s.Test.Len() != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
