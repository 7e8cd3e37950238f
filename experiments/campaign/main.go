package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// campaign is one campaign.
type campaign struct {
	ctx     context.Context
	program string // the executable calibra
	dir     string // for what the attacks make
	seed    uint64
}

// part is one kind of attack: it makes attacks until it has made as many as are its goal,
// or its time is up.
type part struct {
	name  string
	goal  int     // 0: all there are
	share float64 // of the campaign's time
	run   func(c *campaign, n *count, rng *rand.Rand)
}

var parts = []part{
	{name: "folders", share: 0.05, run: meets(linked)},
	{name: "settings", share: 0.02, run: meets(bombs)},
	{name: "special files", share: 0.05, run: meets(specials)},
	{name: "surroundings", share: 0.05, run: meets(surroundings)},
	{name: "files", goal: 6000, share: 0.1, run: files},
	{name: "models", goal: 2000, share: 0.08, run: models},
	{name: "extremes", share: 0.15, run: extremes},
	{name: "at once", goal: 200, share: 0.06, run: atOnce},
	{name: "full disk", goal: 500, share: 0.04, run: full},
	{name: "kills", goal: 2000, share: 0.35, run: kills},
	{name: "ops", share: 0.01, run: ops},
	{name: "fuzz", share: 0.05, run: fuzzers},
}

func main() {
	minutes := flag.Float64("minutes", 60, "time of the campaign")
	seed := flag.Uint64("seed", 1, "seed of the attacks")
	only := flag.String("only", "", "only these parts, separated by commas")
	write := flag.Bool("table", false, "write results.csv and RESULTS.md in experiments/campaign")
	goal := flag.Int("goal", 0, "attacks of each part, instead of its own number")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "calibra-campaign-")
	must(err)
	c := &campaign{ctx: ctx, program: filepath.Join(dir, "calibra"), dir: dir, seed: *seed}
	if out, err := exec.Command("go", "build", "-o", c.program, "./experiments/cmd/calibra").CombinedOutput(); err != nil {
		must(fmt.Errorf("%w: %s", err, out))
	}
	fmt.Printf("seed %d, %g minutes, in %s\n", *seed, *minutes, dir)
	var chosen []part
	for _, p := range parts {
		if *only == "" || strings.Contains(","+*only+",", ","+p.name+",") {
			if *goal > 0 {
				p.goal = *goal
			}
			chosen = append(chosen, p)
		}
	}
	var rows [][]string
	wrong := 0
	for _, n := range c.attack(chosen, time.Duration(*minutes*float64(time.Minute))) {
		rows = append(rows, n.row(*seed))
		wrong += n.wrong()
	}
	fmt.Print("\n", page.Table(rows))
	if *write {
		must(page.Keep(filepath.Join("experiments", "campaign"), rows...))
	}
	if wrong > 0 {
		fmt.Printf("the files of the failures are in %s\n", dir)
		os.Exit(1)
	}
	os.RemoveAll(dir)
}

// attack runs the parts one after the other within a time, and prints what each counted.
func (c *campaign) attack(chosen []part, most time.Duration) (counts []*count) {
	began, shares := time.Now(), 0.0
	for _, p := range chosen {
		shares += p.share
	}
	for i, p := range chosen {
		// What the parts before left over is shared by those that follow.
		left := most - time.Since(began)
		n := &count{Part: p.name, Goal: p.goal, until: time.Now().Add(time.Duration(float64(left) * p.share / shares)), began: time.Now()}
		shares -= p.share
		p.run(c, n, rand.New(rand.NewPCG(c.seed, uint64(i))))
		n.Seconds = time.Since(n.began).Seconds()
		counts = append(counts, n)
		fmt.Println(n)
		if c.ctx.Err() != nil {
			break
		}
	}
	return counts
}

// must ends the campaign where it cannot make what it needs.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		os.Exit(1)
	}
}
