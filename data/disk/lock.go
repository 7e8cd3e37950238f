package disk

import (
	"context"
	"fmt"
	"os"
	"time"

	"calibra/data"
)

// lockWait is the longest that a folder is waited for: it is written in a moment and may be read for minutes.
const lockWait = 10 * time.Minute

// hold takes the lock of the directory, which the closing of the file gives back.
func (d inside) hold(alone bool) (*os.File, error) {
	f, err := d.Open(".")
	if err != nil {
		return nil, data.Inputf(d.Name(), "cannot be opened: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if lock(ctx, f, alone) != nil {
		f.Close()
		return nil, fmt.Errorf("data: another command has been reading or writing %s for %v; try again when it is done", d.Name(), lockWait)
	}
	return f, nil
}

// Lock waits for the lock of a file that a command works in for long, until its holder is
// done or killed. If ctx is cancelled, the error is ctx.Err().
func Lock(ctx context.Context, f *os.File) error { return lock(ctx, f, true) }

func lock(ctx context.Context, f *os.File, alone bool) error {
	for !tryLock(f, alone) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
	return ctx.Err()
}
