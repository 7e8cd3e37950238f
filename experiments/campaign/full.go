package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// full runs commands whose results are to go to a disk that is, or becomes, full: of bytes
// or of files. They succeed, or fail in one sentence that states it; what was there before is
// as it was, and what is there then is whole.
func full(c *campaign, n *count, rng *rand.Rand) {
	seed := rng.Uint64()
	var why error
	var lock sync.Mutex
	side(func(worker int) {
		rng := rand.New(rand.NewPCG(seed, uint64(worker)))
		d, err := newDisk(filepath.Join(c.dir, fmt.Sprintf("disk-%d", worker)))
		if err != nil {
			lock.Lock()
			defer lock.Unlock()
			why = err
			return
		}
		defer d.close()
		dir := c.scene(n, fmt.Sprintf("full-%d", worker), rng)
		before := inputs(dir)
		for i := 0; n.more(c); i++ {
			v := victims[rng.IntN(len(victims))]
			after := v.fill(c, n, d, v.args(dir, i), rng)
			c.kept(n, dir, before, after)
			if n.wrong() > 0 {
				must(d.room(1<<20, 1000))
			}
			must(d.clear())
		}
	})
	if why != nil {
		n.note = "not run: " + why.Error()
		fmt.Printf("%s: %s\n", n.Part, n.note)
	}
}

// fill runs the victim, whose last argument is what it writes, where the disk has little room,
// and checks what it left. It describes what was done.
func (v victim) fill(c *campaign, n *count, d *smallDisk, args []string, rng *rand.Rand) (after string) {
	place := len(args) - 1
	out := filepath.Join(d.dir, filepath.Base(args[place]))
	args[place] = out
	must(d.room(1<<20, 1000))
	var earlier []string
	again := rng.IntN(2) == 0
	if again { // there are results of an earlier run
		c.run(n, []int{0}, args...)
		earlier = remains(out)
	}
	kilobytes, files := 1<<20, 1000
	if rng.IntN(4) == 0 {
		files = rng.IntN(12)
	} else {
		kilobytes = int(math.Exp(rng.Float64()*math.Log(700))) - 1
	}
	must(d.room(kilobytes, files))
	e := c.run(n, []int{0, 1}, args...)
	after = fmt.Sprintf("%s with room for %d kB and %d files", e.line, kilobytes, files)
	failed := e.code == 1
	if failed && !strings.Contains(e.stderr, "no space left") {
		n.failed("wrong exits", "%s: %s", after, opening(e.stderr))
	}
	if said := sentences(e.stderr); failed && said != 1 {
		n.failed("long answers", "%s: %d sentences: %s", after, said, opening(e.stderr))
	}
	if err := v.check(d.dir); err != nil {
		n.failed("mixed folders", "%v, after %s", err, after)
	}
	for _, path := range remains(out) {
		if failed && !again && !v.keeps(path, e.stderr) || unfinished.MatchString(filepath.Base(path)) && !strings.Contains(e.stderr, path+",") {
			n.failed("leftovers", "%s is there after %s", path, after)
		}
	}
	for _, path := range earlier {
		if _, err := os.Stat(path); err != nil && failed {
			n.failed("destroyed inputs", "%s is gone after %s", path, after)
		}
	}
	return after
}

// sentences is how many an answer has, notes of what went on meanwhile aside.
func sentences(stderr string) (said int) {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "calibra: ") {
			said++
		}
	}
	return said
}

// remains are the files and directories that begin with path, and what is unfinished beside.
func remains(path string) (paths []string) {
	dir, base := filepath.Split(path)
	must(filepath.WalkDir(dir, func(at string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(at, path) || strings.HasPrefix(filepath.Base(at), "."+base) {
			paths = append(paths, at)
		}
		return err
	}))
	return paths
}

// keeps reports whether a command that failed may leave path behind: results so far, with
// which the same command goes on, if it told of them.
func (v victim) keeps(path, stderr string) bool {
	switch v.name {
	case "study", "compare":
		return strings.Contains(stderr, "cells are kept")
	case "pretrain":
		return strings.Contains(stderr, "holds the weights of epoch")
	case "encode":
		return strings.Contains(stderr, path+",")
	}
	return false
}
