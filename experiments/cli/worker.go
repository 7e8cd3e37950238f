package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/graph/work"
)

// worker is the command that answers other commands, one after another, until its standard input ends. The Python
// package keeps one: a fit of few rows takes less time than a start of the program. No help lists it.
const worker = "worker"

// request is a line of JSON that a worker reads: the arguments of a command, or a folder that belongs to the requests
// from now on. The folder is removed at the end of the input, whatever became of the process that made it.
type request struct {
	Args   []string `json:"args"`
	Folder string   `json:"folder"`
}

const (
	// endMark ends what a command prints, on standard error with a newline and on standard output with its exit code.
	// The text of a command holds no such character.
	endMark = "\x00"
	// patience is how long a command may go on once nobody waits for it.
	patience = 10 * time.Second
	// lasting is from what time on the memory of a command is given back at its end.
	lasting = time.Second
)

// serve answers the lines of in.
func serve(ctx context.Context, in io.Reader, methods *method.Catalog) int {
	signal.Ignore(syscall.SIGPIPE) // else progress that nobody reads would end the program before the folder is removed
	var folder atomic.Value
	folder.Store("")
	remove := func() {
		if path := folder.Load().(string); path != "" {
			_ = disk.RemoveAll(path) // what cannot be removed stays
		}
	}
	defer remove()
	ctx, lines := work.Lines(ctx, in)
	keep := context.AfterFunc(ctx, func() {
		time.Sleep(patience)
		remove()
		os.Exit(exitInterrupted)
	})
	defer keep()
	for {
		var text string
		select {
		case said, more := <-lines:
			if !more {
				return 0
			}
			text = said
		case <-ctx.Done():
			return 0
		}
		var next request
		if err := json.Unmarshal([]byte(text), &next); err != nil {
			fmt.Fprintf(os.Stderr, "calibra: %s reads requests of the Python package, each a line of JSON: %v\n", worker, err)
			return exitUsage
		}
		if next.Folder != "" {
			folder.Store(next.Folder)
			continue
		}
		start := time.Now()
		code := answer(ctx, methods, next.Args)
		fmt.Fprintln(os.Stderr, endMark)
		fmt.Printf("%s%d\n", endMark, code)
		if time.Since(start) > lasting {
			debug.FreeOSMemory()
		}
	}
}
