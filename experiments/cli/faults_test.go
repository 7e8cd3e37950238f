package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"calibra/data"
	"calibra/data/disk"
)

// fault is what becomes of the n-th change of the disk.
type fault int

const (
	fails  fault = iota // it is not made, the next ones are
	isFull              // it is not made, and nothing can be written from then on, only removed
	dies                // the process is gone before it
	faults
)

func (f fault) String() string {
	return []string{"fails", "finds the disk full", "is not reached"}[f]
}

// errGone is what a process gets that is gone: nothing that it does has an effect.
var errGone = errors.New("the process is gone")

// brokenDisk makes the n-th change of the disk a fault. What was written and not synced when the
// process went is there up to a length that is drawn.
type brokenDisk struct {
	mu    sync.Mutex
	at    int
	kind  fault
	rng   *rand.Rand
	n     int
	gone  bool
	dirty map[string]bool // files that are not synced, by their paths
	ops   []string
}

// before is told of each change; its error is what the process gets.
func (f *brokenDisk) before(change, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return errGone
	}
	f.n++
	f.ops = append(f.ops, change+" "+path)
	switch {
	case f.n >= f.at && f.kind == isFull && change != "remove":
		return syscall.ENOSPC
	case f.n == f.at && f.kind == fails:
		return syscall.EIO
	case f.n == f.at && f.kind == dies:
		f.gone = true
		return errGone
	}
	switch change {
	case "create":
		f.dirty[path] = true
	case "sync":
		delete(f.dirty, path)
	}
	return nil
}

// lose is what a crash does to files that were not synced.
func (f *brokenDisk) lose(t *testing.T) {
	if !f.gone {
		return
	}
	for path := range f.dirty {
		if info, err := os.Stat(path); err == nil {
			if err := os.Truncate(path, f.rng.Int64N(info.Size()+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// scene is a directory with inputs and the results of an earlier command.
type scene struct {
	name    string
	before  []string // the earlier command
	command []string // the one that meets the fault; DIR is the scene
	folder  string   // that it writes, of one group
	file    string   // or the file
	some    int      // how many changes meet a fault, evenly spaced and each one kind; 0: all, of all kinds
}

var scenes = []scene{
	{"fit", []string{"fit", "--in", "DIR/f.npz", "--method", "nc", "--out", "DIR/run"}, []string{"fit", "--in", "DIR/f.npz", "--method", "ts", "--out", "DIR/run"}, "run", "", 1000},
	{"first fit", nil, []string{"fit", "--in", "DIR/f.npz", "--method", "ts", "--out", "DIR/run"}, "run", "", 8},
	{"apply", []string{"fit", "--in", "DIR/f.npz", "--method", "ts", "--out", "DIR/model"}, []string{"apply", "--model", "DIR/model", "--in", "DIR/f.npz", "--out", "DIR/p.npz"}, "", "p.npz", 0},
	{"export", []string{"fit", "--in", "DIR/f.npz", "--method", "ts", "--out", "DIR/model"}, []string{"export", "--model", "DIR/model", "--onnx", "DIR/m.onnx"}, "", "m.onnx", 0},
	{"diagnose", []string{"diagnose", "--in", "DIR/p.npz", "--features", "DIR/z.npz", "--redraws", "19", "--seed", "1", "--out", "DIR/d"}, []string{"diagnose", "--in", "DIR/p.npz", "--features", "DIR/z.npz", "--redraws", "19", "--out", "DIR/d"}, "d", "", 4},
	{"compare", []string{"compare", "--in", "DIR/l.npz", "--methods", "ts", "--seeds", "1", "--out", "DIR/c"}, []string{"compare", "--in", "DIR/l.npz", "--methods", "ts,nc", "--seeds", "1", "--out", "DIR/c"}, "c", "", 2},
	{"study", []string{"study", "main", "--data", "DIR/l.npz", "--methods", "ts", "--seeds", "1", "--out", "DIR/s"}, []string{"study", "main", "--data", "DIR/l.npz", "--methods", "ts,nc", "--seeds", "1", "--out", "DIR/s"}, "s", "", 2},
}

var temporaryName = regexp.MustCompile(`^\.(.+)\.\d+@([^.]*)\.(\d+)$|^\.calibra\.pending$`)

// bury gives what a process left the number of one that is gone.
func bury(t *testing.T, dir string) {
	t.Helper()
	var left []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() != ".calibra.pending" && temporaryName.MatchString(e.Name()) {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range left {
		dead := temporaryName.ReplaceAllString(filepath.Base(path), ".$1.999999999@$2.$3")
		if err := os.Rename(path, filepath.Join(filepath.Dir(path), dead)); err != nil {
			t.Fatal(err)
		}
	}
}

// audit judges a folder by its manifest alone: each file that it tells of is there with its
// digest, or waits to take its place. It returns the manifest.
func audit(dir string) (manifest string, err error) {
	pending := filepath.Join(dir, ".calibra.pending")
	text, err := os.ReadFile(filepath.Join(pending, "manifest.json"))
	waiting := err == nil
	if !waiting {
		text, err = os.ReadFile(filepath.Join(dir, "manifest.json"))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var told struct{ Groups map[string]map[string]string }
	if err := json.Unmarshal(text, &told); err != nil {
		return "", err
	}
	for group, files := range told.Groups {
		for name, digest := range files {
			content, err := os.ReadFile(filepath.Join(pending, name))
			if !waiting || err != nil {
				content, err = os.ReadFile(filepath.Join(dir, name))
			}
			sum := sha256.Sum256(content)
			switch {
			case digest != "" && (err != nil || hex.EncodeToString(sum[:]) != digest):
				return "", fmt.Errorf("%s of %s is nowhere", name, group)
			case digest == "" && err == nil && !waiting:
				return "", fmt.Errorf("%s of %s should be gone", name, group)
			}
		}
	}
	return string(text), nil
}

// TestFaults lets each change of the disk that a command makes fail, and the process die there:
// what was there is whole, or what was to be, and the command then succeeds. All faults are
// tried of all commands with CALIBRA_CHECK=all. It takes more than 5 s, as each fault is two runs of a command.
func TestFaults(t *testing.T) {
	base := t.TempDir()
	predictions, z, _ := writeDiagnosable(t, 120)
	logits := slices.DeleteFunc(features(60), func(a data.Array) bool { return strings.HasSuffix(a.Name, "_features") }) // have fewer figures
	inputs := map[string][]byte{}
	for name, from := range map[string]string{"f.npz": write(t, features(60)), "l.npz": write(t, logits), "p.npz": predictions, "z.npz": z} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		inputs[name] = content
	}
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			old := filepath.Join(base, s.name)
			for name, content := range inputs {
				if name != s.file {
					if err := disk.MkdirAll(old); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(old, name), content, 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}
			s.must(t, old, s.before)
			whole := filepath.Join(base, s.name+" whole")
			if err := os.CopyFS(whole, os.DirFS(old)); err != nil {
				t.Fatal(err)
			}
			none := s.meet(t, whole, 1<<30, fails) // counts
			if !s.committed(t, whole) {
				t.Fatalf("%d changes made nothing: %v", none.n, none.ops)
			}
			steps, all := none.n, os.Getenv("CALIBRA_CHECK") == "all"
			tried := 0
			for n := 1; n <= steps; n++ {
				if s.some > 0 && !all && n*s.some/steps == (n-1)*s.some/steps {
					continue
				}
				for kind := range faults {
					if s.some > 0 && !all && int(kind) != n%int(faults) {
						continue
					}
					dir := filepath.Join(base, "tried")
					if err := os.CopyFS(dir, os.DirFS(old)); err != nil {
						t.Fatal(err)
					}
					s.try(t, dir, old, n, kind)
					if err := os.RemoveAll(dir); err != nil {
						t.Fatal(err)
					}
					tried++
				}
			}
			t.Logf("%d faults at %d changes", tried, steps)
		})
	}
}

func (s scene) args(dir string, command []string) (args []string) {
	for _, arg := range command {
		args = append(args, strings.ReplaceAll(arg, "DIR", dir))
	}
	return args
}

func (s scene) must(t *testing.T, dir string, command []string) {
	t.Helper()
	if command == nil {
		return
	}
	if code, _, stderr := calibra(t, s.args(dir, command)...); code != 0 {
		t.Fatalf("%v exits %d: %s", command, code, stderr)
	}
}

// meet runs the command on a disk with a fault, and leaves what a process leaves.
func (s scene) meet(t *testing.T, dir string, n int, kind fault) *brokenDisk {
	t.Helper()
	f := &brokenDisk{at: n, kind: kind, rng: rand.New(rand.NewPCG(uint64(n), uint64(kind))), dirty: map[string]bool{}}
	restore := disk.Interrupt(f.before)
	code, _, stderr := calibra(t, s.args(dir, s.command)...)
	restore()
	f.lose(t)
	bury(t, dir)
	if code == exitInternal || strings.Contains(stderr, "goroutine ") {
		t.Errorf("%s exits %d where change %d (%s) %v: %s", s.name, code, n, f.op(), kind, stderr)
	}
	return f
}

func (f *brokenDisk) op() string {
	if f.at <= len(f.ops) {
		return f.ops[f.at-1]
	}
	return "none"
}

// committed reports whether the scene's result is there.
func (s scene) committed(t *testing.T, dir string) bool {
	_, err := os.Stat(filepath.Join(dir, s.folder, s.file))
	return err == nil
}

func (s scene) try(t *testing.T, dir, old string, n int, kind fault) {
	f := s.meet(t, dir, n, kind)
	where := fmt.Sprintf("where change %d (%s) %v", n, f.op(), kind)
	if s.folder != "" {
		was, err := audit(filepath.Join(old, s.folder))
		if err != nil {
			t.Fatal(err)
		}
		if is, err := audit(filepath.Join(dir, s.folder)); err != nil || was != "" && is == "" {
			t.Errorf("%s: %v, a manifest of %d bytes", where, err, len(is))
		}
	} else if content, err := os.ReadFile(filepath.Join(dir, s.file)); err == nil {
		whole, err := os.ReadFile(filepath.Join(filepath.Dir(old), s.name+" whole", s.file))
		if err != nil || string(content) != string(whole) {
			t.Errorf("%s: %s is another file (%v)", where, s.file, err)
		}
	}
	s.kept(t, dir, old, where)
	if code, _, stderr := calibra(t, s.args(dir, s.command)...); code != 0 {
		t.Errorf("%s: the next run exits %d: %s", where, code, stderr)
	}
	if _, err := audit(filepath.Join(dir, s.folder)); err != nil || !s.committed(t, dir) {
		t.Errorf("%s: after the next run: %v", where, err)
	}
	s.kept(t, dir, old, where+" and a next run")
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && temporaryName.MatchString(e.Name()) {
			t.Errorf("%s: after the next run %s is there", where, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// kept looks whether inputs are as they were.
func (s scene) kept(t *testing.T, dir, old, where string) {
	t.Helper()
	for _, name := range []string{"f.npz", "l.npz", "p.npz", "z.npz", "model/model.safetensors", "model/manifest.json"} {
		was, err := os.ReadFile(filepath.Join(old, name))
		if err != nil || name == s.file {
			continue
		}
		if is, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !slices.Equal(is, was) {
			t.Errorf("%s: %s has changed (%v)", where, name, err)
		}
	}
}
