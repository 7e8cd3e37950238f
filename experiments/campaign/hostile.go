package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
)

// hostile is what somebody puts in a command's way: files below a directory, and what the
// shell sets before the command. In texts DIR is the directory and SCENE that of sound files.
type hostile struct {
	name  string
	files map[string]string // "-> x" is a link, "| " a pipe, "/ " a directory, else what the file holds
	shell string
	file  string // in the place of FILE
	args  string
	codes []int
}

// met is h before each of some commands.
func (h hostile) met(commands []string) []hostile {
	return data.Each(commands, func(args string) hostile {
		h.args = strings.ReplaceAll(args, "FILE", h.file)
		return h
	})
}

// readers are commands that read FILE, by the kind of file.
var readers = map[string][]string{
	"rows": {
		"fit --in FILE --method ts --out DIR/out", "apply --model SCENE/model --in FILE --out DIR/out.npz", "evaluate --in FILE",
		"diagnose --in FILE --out DIR/out", "compare --in FILE --methods ts --out DIR/out", "study main --data FILE --methods ts --out DIR/out",
		"pretrain --data FILE --out DIR/out", "export --model SCENE/model --backbone FILE --onnx DIR/out.onnx", "export --model FILE --onnx DIR/out.onnx",
	},
	"settings": {"fit --in SCENE/features.npz --method vector --config FILE --out DIR/out", "compare --in SCENE/features.npz --methods ts --config FILE --out DIR/out"},
	"folder": {
		"apply --model DIR/m --in SCENE/features.npz --out DIR/out.npz", "export --model DIR/m --onnx DIR/out.onnx", "evaluate --in DIR/m/predictions.npz --redraws 0 --replicates 0",
		"diagnose --in DIR/m/predictions.npz --redraws 19 --out DIR/out", "fit --in SCENE/features.npz --method ts --out DIR/m", "encode --model DIR/m --out DIR/out.npz",
	},
}

const (
	stage  = "m/.calibra.999999999.0/"
	sha    = "372eb3774802a8d97badd0f3afdabbf7a17ef8a1f900b394db99a460b893406c" // of "planted"
	groups = `{"format":"calibra folder 1","groups":{"fit":{%s,"link/gone.txt":""}}}`
)

// linked are folders whose manifest lists NAME, which lies elsewhere or is a link.
func linked() (all []hostile) {
	byName := map[string]map[string]string{
		"link/keep.txt": {"m/link": "-> ../outside", stage + "link/keep.txt": "planted"}, "a/b/keep.txt": {"m/a": "-> .", "m/b": "-> ../outside", stage + "a/b/keep.txt": "planted"},
		"model.safetensors": {"m/model.safetensors": "-> ../outside/keep.txt", stage + "model.safetensors": "planted"}, "../outside/keep.txt": {stage + "x": "planted"},
		"predictions.npz": {stage + "predictions.npz": "-> ../../outside/keep.txt"}, "/etc/hostname": {stage + "etc/hostname": "planted"},
		"config.json": {"m/.manifest.json.999999999.0": "-> ../outside/keep.txt", stage + "config.json": "planted"}, ".": {stage + "x": "planted"},
		"metrics.json": {"m/metrics.json": "| "}, "embedding.npz": {"m/embedding.npz": "| ", stage + "embedding.npz": "| "},
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		files := byName[name]
		files["m/manifest.json"] = fmt.Sprintf(groups, fmt.Sprintf("%q:%q", name, sha))
		all = append(all, hostile{name: "a folder that tells of " + name, files: files, codes: answers}.met(readers["folder"])...)
	}
	for _, manifest := range []string{"-> ../outside/keep.txt", "| ", "/ ", "-> /dev/zero", "{", strings.Repeat("[", 1<<20)} {
		all = append(all, hostile{name: "a manifest", files: map[string]string{"m/manifest.json": manifest}, codes: answers}.met(readers["folder"])...)
	}
	return all
}

// bombs are settings that a decoder of YAML does not survive, or of which it reads a part.
func bombs() (all []hostile) {
	laughs := "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
	for i := 1; i < 9; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	var deep, keys strings.Builder
	for i := range 100000 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
		if i < 300 {
			fmt.Fprintf(&deep, "%sa:\n", strings.Repeat(" ", i))
		}
	}
	for _, text := range []string{
		strings.Repeat("[", 200000), strings.Repeat("[", 60000), strings.Repeat("{a: ", 16000), strings.Repeat("- ", 30000), strings.Repeat("? ", 30000), laughs,
		deep.String(), keys.String(), keys.String()[:60000], "optim.rate: 1\n---\noptim.rate: 2\n", "\xff\xfea\x00", "optim.rate: &a 1\n", "\x1b]0;X\x07: 1\n", "-> /dev/zero", "| ", "/ ",
	} {
		all = append(all, hostile{name: "settings", files: map[string]string{"f": text}, file: "DIR/f", codes: []int{2}}.met(readers["settings"])...)
	}
	return all
}

// specials are no files, by names of files.
func specials() (all []hostile) {
	for _, what := range []string{"| ", "/ ", "-> /dev/zero", "-> /dev/full", "-> pipe", "-> nowhere", "-> f.npz"} {
		for _, ext := range []string{".npz", ".csv", ".parquet", ".safetensors"} {
			h := hostile{name: "no file", files: map[string]string{"f" + ext: what, "pipe": "| "}, file: "DIR/f" + ext, codes: []int{2}}
			all = append(all, h.met(slices.Concat(readers["rows"], readers["settings"]))...)
		}
	}
	return all
}

// surroundings are what the shell sets.
func surroundings() (all []hostile) {
	commands := []string{
		"fit --in SCENE/features.npz --method ts --out DIR/out", "compare --in SCENE/features.npz --methods ts,nc --seeds 1 --out DIR/out", "evaluate --in SCENE/model/predictions.npz --redraws 9 --replicates 9 --plots DIR/out",
		"apply --model SCENE/model --in SCENE/features.npz --out DIR/out.npz", "info", "--version",
	}
	settings := []string{"TMPDIR=/nonexistent", "TMPDIR=/dev/null", "HOME=", "PATH=", "LANG=C", "TERM=", "COLUMNS=1", "GOMEMLIMIT=1", "GOMAXPROCS=1000", "umask 777;", "cd /; ", "exec </dev/null;", "exec 2>/dev/full;"}
	for n := 6; n < 34; n += 3 {
		settings = append(settings, fmt.Sprintf("ulimit -n %d;", n))
	}
	for _, megabytes := range []int{1200, 1500, 2000, 4000, 6000} {
		settings = append(settings, fmt.Sprintf("ulimit -v %d;", megabytes<<10))
	}
	for _, s := range settings {
		all = append(all, hostile{name: "a shell with " + s, shell: s, codes: []int{0, 1, 2}}.met(commands)...)
	}
	return all
}

// meets is the part in which commands meet what is hostile, each once before any twice.
func meets(rows func() []hostile) func(c *campaign, n *count, rng *rand.Rand) {
	return func(c *campaign, n *count, rng *rand.Rand) {
		all := rows()
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		scene := c.scene(n, strings.ReplaceAll(n.Part, " ", "-"), rng)
		each(c, n, all, func(worker int, h hostile) {
			c.meet(n, scene, filepath.Join(c.dir, fmt.Sprintf("%s-%d", filepath.Base(scene), worker)), h)
		})
		n.note = fmt.Sprintf("%d in all", len(all))
	}
}

// meet lets one command meet h in dir. What lies outside of what it writes stays as it is.
func (c *campaign) meet(n *count, scene, dir string, h hostile) {
	outside := map[string]string{"outside/keep.txt": "kept", "outside/gone.txt": "kept", "outside/manifest.json": fmt.Sprintf(groups, `"keep.txt":""`)}
	place := func(files map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			path, text := filepath.Join(dir, name), files[name]
			must(os.MkdirAll(filepath.Dir(path), 0o777))
			switch {
			case strings.HasPrefix(text, "-> "):
				must(os.Symlink(text[3:], path))
			case text == "| ":
				must(exec.Command("mkfifo", path).Run())
			case text == "/ ":
				must(os.MkdirAll(path, 0o777))
			default:
				must(os.WriteFile(path, []byte(text), 0o666))
			}
		}
	}
	must(os.RemoveAll(dir))
	if strings.Contains(h.args, "DIR/m") { // a sound model, but for what h puts there
		must(os.CopyFS(filepath.Join(dir, "m"), os.DirFS(filepath.Join(scene, model))))
		for name := range h.files {
			must(os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	place(outside)
	place(h.files)
	args := strings.Fields(strings.NewReplacer("DIR", dir, "SCENE", scene).Replace(h.args))
	e := c.shell(n, h.codes, h.shell, args...)
	after := h.name + ": " + e.line
	for name, text := range outside {
		if have, err := data.ReadFile(filepath.Join(dir, name)); err != nil || string(have) != text {
			n.failed("destroyed inputs", "%s after %s", name, after)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "outside")); err != nil || len(entries) != len(outside) {
		n.failed("leftovers", "%v outside after %s", entries, after)
	}
	c.remove(n, dir)
}
