//go:build unix

package disk

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writesTo makes the test binary write folders into the directory that it names until it is
// killed.
const writesTo = "CALIBRA_TEST_WRITES_TO"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writesTo); dir != "" {
		for i := 0; ; i++ {
			if err := run(dir, fmt.Sprintf("%d.%d ", os.Getpid(), i)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
	os.Exit(m.Run())
}

// TestFolderSurvivesKills: whenever its writers are killed, a folder holds one run, to a
// reader and to the next writer, and what the killed left behind is cleared.
func TestFolderSurvivesKills(t *testing.T) {
	dir := t.TempDir()
	for kill := range 40 {
		var writers []*exec.Cmd
		for range 1 + kill%3 {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), writesTo+"="+dir)
			c.Stderr = os.Stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			writers = append(writers, c)
		}
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("nothing was written")
			}
		}
		time.Sleep(time.Duration(1+kill*7%23) * time.Millisecond)
		for _, c := range writers {
			c.Process.Kill()
			c.Wait()
			if c.ProcessState.ExitCode() != -1 {
				t.Fatal("a writer ended before it was killed")
			}
		}
		if _, err := holds(dir); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
	}
	if err := run(dir, "last"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(names(t, dir)); got != "[a b below manifest.json]" {
		t.Errorf("there are %s", got)
	}
}

// TestFolderBetweenMoves: a process that is killed after its files were committed and before the last is in its place
// has written its run: a reader finds it and changes nothing, and the next that writes there finishes it.
func TestFolderBetweenMoves(t *testing.T) {
	for stop := 1; ; stop++ {
		dir := t.TempDir()
		if err := run(dir, "old"); err != nil {
			t.Fatal(err)
		}
		moves, gone := 0, errors.New("killed")
		restore := Interrupt(func(change, path string) error {
			if change == "rename" && strings.HasSuffix(path, pending) || moves > 0 {
				moves++
			}
			if moves > stop {
				return gone
			}
			return nil
		})
		err := run(dir, "new")
		restore()
		if err == nil { // it was not stopped
			if stop < 4 {
				t.Errorf("a commit takes %d changes", stop)
			}
			return
		}
		before := tree(t, dir)
		if got, err := holds(dir); err != nil || got != "new" {
			t.Errorf("after %d changes: holds %q, %v", stop, got, err)
		}
		if after := tree(t, dir); !maps.Equal(before, after) {
			t.Errorf("after %d changes: a reader made %v of %v", stop, after, before)
		}
		if err := PrepareFolder(dir, "other"); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(names(t, dir)); got != "[a b below manifest.json]" {
			t.Errorf("after %d changes there are %s", stop, got)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(text) != "a new" {
			t.Errorf("after %d changes a holds %q, %v", stop, text, err)
		}
	}
}

// TestLeftovers: what dead processes left is cleared, what others write is not, nor what
// only looks alike.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	dead := func(base string, pid int, host string) string { return fmt.Sprintf(".%s.%d@%s.0", base, pid, host) }
	for _, name := range []string{dead("x", os.Getpid(), thisHost()), dead("y", 999999999, thisHost()), ".x.old.1", ".x.999999999.0", dead("x", 999999999, thisHost())[1:], dead("x", 999999999, thisHost()) + ".npz"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, days := range []int{0, 2} { // of a dead process here, and of other machines
		then := time.Now().AddDate(0, 0, -days)
		for _, name := range []string{fmt.Sprintf(".x.999999997@%s.%d", thisHost(), days), fmt.Sprintf(".x.999999997@elsewhere.%d", days)} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
		}
	}
	held, err := os.OpenFile(filepath.Join(dir, dead("x", 999999998, thisHost())), os.O_CREATE|os.O_RDWR, 0o666) // of a container
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	tryLock(held, true)
	if err := WriteBytes(filepath.Join(dir, "x"), nil); err != nil {
		t.Fatal(err)
	}
	if os.Getpid() > 999999996 {
		t.Skip("the numbers of processes are larger than the test expects")
	}
	for _, name := range names(t, dir) {
		if strings.HasPrefix(name, ".x.999999997@"+thisHost()) || name == ".x.999999997@elsewhere.2" {
			t.Error("what a dead process left is still there")
		}
	}
	if n := len(names(t, dir)); n != 9 { // x, the one held, another machine's of today, and six that are nobody's or alive
		t.Errorf("%d files are there, not 9: %s", n, names(t, dir))
	}
}

// TestFolderFullDisk: files that grow beyond a limit of the process, as on a full disk,
// leave the old run.
func TestFolderFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, "old"); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-c", "trap '' XFSZ; ulimit -f 1; exec "+os.Args[0]+" -test.run '^TestWritesMuch$'")
	c.Env = append(os.Environ(), "CALIBRA_TEST_MUCH_TO="+dir)
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "file too large") {
		t.Fatalf("%v: %s", err, out)
	}
	if got, err := holds(dir); err != nil || got != "old" {
		t.Errorf("holds %q, %v", got, err)
	}
	if got := fmt.Sprint(names(t, dir)); got != "[a b below manifest.json]" {
		t.Errorf("there are %s", got)
	}
}

// TestWritesMuch is what TestFolderFullDisk runs under its limit.
func TestWritesMuch(t *testing.T) {
	dir := os.Getenv("CALIBRA_TEST_MUCH_TO")
	if dir == "" {
		t.Skip("a part of TestFolderFullDisk")
	}
	if err := run(dir, strings.Repeat("much ", 1<<20)); err != nil {
		t.Fatal(err)
	}
}
