package disk

import (
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
	for began := time.Now(); !tryLock(f, alone); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > lockWait {
			f.Close()
			return nil, fmt.Errorf("data: another command has been reading or writing %s for %v; try again when it is done", d.Name(), lockWait)
		}
	}
	return f, nil
}
