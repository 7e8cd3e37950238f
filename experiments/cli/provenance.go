package cli

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"calibra/data"
	"calibra/experiments/program"
	"calibra/experiments/report"
	"calibra/graph/blas"
)

// provenance is the head of a report: the command, the program, the data, the machine and
// the date. The date is SOURCE_DATE_EPOCH if that is set, so that a page can be made again
// byte by byte.
func provenance(facts ...report.Fact) ([]report.Fact, error) {
	program, err := program.ThisProgram()
	if err != nil {
		return nil, err
	}
	date := time.Now()
	if text, ok := os.LookupEnv("SOURCE_DATE_EPOCH"); ok {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, data.Inputf("", "SOURCE_DATE_EPOCH is %q; it must be seconds since 1970", text)
		}
		date = time.Unix(seconds, 0)
	}
	head := []report.Fact{{Name: "Command", Value: report.Called("calibra " + quoted(os.Args[1:]...))}, {Name: "Program", Value: program.String()}}
	head = append(head, facts...)
	return append(head,
		report.Fact{Name: "Machine", Value: fmt.Sprintf("%s/%s, %d of %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.NumCPU(), blas.InstructionSet())},
		report.Fact{Name: "Date", Value: date.UTC().Format("2006-01-02 15:04 UTC")}), nil
}

// bytesQuoted is an argument that is not UTF-8 as bash and zsh take it.
func bytesQuoted(arg string) string {
	var word strings.Builder
	for _, b := range []byte(arg) {
		if b < ' ' || b >= utf8.RuneSelf || b == '\'' || b == '\\' {
			fmt.Fprintf(&word, `\x%02x`, b)
		} else {
			word.WriteByte(b)
		}
	}
	return "$'" + word.String() + "'"
}

// quoted is the arguments as a shell takes them.
func quoted(args ...string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if !utf8.ValidString(arg) {
			words[i] = bytesQuoted(arg)
		} else if arg == "" || strings.ContainsAny(arg, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
