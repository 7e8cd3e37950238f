package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"calibra/data/disk"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail and say what is stale")
	old := flag.Bool("old", false, "write nothing; fail and list the result files that are older than their program")
	root := flag.String("root", ".", "root of the repository")
	flag.Parse()
	work := func() error { return write(*root, *check) }
	if *old {
		work = func() error { return list(*root) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

// write writes the stale pages below root, or only names them where check is set.
func write(root string, check bool) error {
	files, err := Generate(root)
	if err != nil {
		return err
	}
	var stale []string
	for _, f := range files {
		if f.Stale == nil {
			continue
		}
		stale = append(stale, fmt.Sprintf("%s: %s", f.Path, strings.Join(f.Stale, ", ")))
		if check {
			continue
		}
		if err := disk.WriteBytes(f.Path, f.Content); err != nil {
			return err
		}
		fmt.Println("wrote", stale[len(stale)-1])
	}
	if check && stale != nil {
		return fmt.Errorf("not what the result files say: %s; run go run ./experiments/results", strings.Join(stale, "; "))
	}
	return nil
}

// list is an error that lists what is older than its program.
func list(root string) error {
	old, err := Old(root)
	if err == nil && old != nil {
		err = fmt.Errorf("older than their programs:\n%s", strings.Join(old, "\n"))
	}
	return err
}
