package method

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"calibra/data"
)

func settingsIn(t *testing.T, text string) (Values, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return ReadValues([]string{path})
}

// bombs are files that take a decoder of YAML gigabytes, or minutes, or for which it reads
// something else than what is there.
var bombs = map[string]struct{ text, want string }{
	"open brackets":        {strings.Repeat("[", 200000), "at most 65.5 kB"},
	"fewer brackets":       {strings.Repeat("[", 60000), "deeper than 8"},
	"maps within maps":     {strings.Repeat("{a: ", 16000), "deeper than 8"},
	"maps in one line":     {strings.Repeat("a: ", 16000), "deeper than 8"},
	"lists in one line":    {strings.Repeat("- ", 30000), "deeper than 8"},
	"keys in one line":     {strings.Repeat("? ", 30000), "deeper than 8"},
	"indented maps":        {indented(340), "deeper than 8"},
	"nine levels of names": {laughs(9), "no aliases"},
	"an anchor":            {"a: &b 1\n", "no aliases"},
	"an alias":             {"a: *b\n", "no aliases"},
	"a merge":              {"<<: {a: 1}\n", "no aliases"},
	"100,000 keys":         {manyKeys(100000), "at most 65.5 kB"},
	"a second document":    {"optim.rate: 1\n---\noptim.rate: 2\n", "second document in line 2"},
	"a third":              {"---\noptim.rate: 1\n...\n---\noptim.rate: 2\n", "second document in line 4"},
	"no UTF-8":             {"optim.rate: \xff\n", "UTF-8"},
	"UTF-16":               {"\xff\xfeo\x00p\x00", "UTF-8"},
	"a list":               {"- 1\n- 2\n", "is not YAML of settings"},
}

func indented(depth int) string {
	var b strings.Builder
	for i := range depth {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

func laughs(levels int) string {
	text := "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
	for i := 1; i < levels; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	return text
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	return b.String()
}

// TestSettingsBombs: each is refused in a sentence, and takes little memory until then. The
// lexer takes some hundred bytes for each of the 65,536 that it may see: 64 MB are more.
func TestSettingsBombs(t *testing.T) {
	for name, bomb := range bombs {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := settingsIn(t, bomb.text)
			runtime.ReadMemStats(&after)
			var input *data.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), bomb.want) || len(err.Error()) > 1000 {
				t.Errorf("got %.1000v, want %s", err, bomb.want)
			}
			if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 64 {
				t.Errorf("took %d MB", taken)
			}
		})
	}
}

// TestSettingsAsWritten: a mark of the byte order is passed over, and groups may be nested.
func TestSettingsAsWritten(t *testing.T) {
	for _, text := range []string{
		"optim.rate: 3e-4\nlayers: [4, 8]\n",
		"\ufeffoptim:\n  rate: 3e-4\nlayers: [4, 8]\n",
		"# by hand\n---\noptim: {rate: 3e-4}\nlayers:\n  - 4\n  - 8\n...\n",
		`{"optim": {"rate": "3e-4"}, "layers": [4, 8]}`,
	} {
		v, err := settingsIn(t, text)
		if err != nil || len(v) != 2 || v["optim.rate"] != "3e-4" && v["optim.rate"] != "0.0003" || v["layers"] != "4,8" {
			t.Errorf("%q gives %v, %v", text, v, err)
		}
	}
	if _, err := settingsIn(t, manyKeys(5000)); err != nil {
		t.Error(err)
	}
	for _, path := range []string{os.DevNull, filepath.Join(t.TempDir(), "none.yaml")} {
		var input *data.InputError
		if _, err := ReadValues([]string{path}); !errors.As(err, &input) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

// FuzzSettings: whatever a file of settings holds, it is read or refused in a sentence.
func FuzzSettings(f *testing.F) {
	for _, bomb := range bombs {
		f.Add([]byte(bomb.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := settingsIn(t, string(text))
		var input *data.InputError
		if err != nil && !errors.As(err, &input) {
			t.Fatalf("%v is no input error", err)
		}
	})
}
