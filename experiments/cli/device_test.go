package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// Without a card, cuda fails with one sentence and code 3 before anything is written, and
// auto and cpu work.
func TestDevice(t *testing.T) {
	var flag deviceFlag
	if err := flag.Device.UnmarshalText([]byte("cuda")); err != nil {
		t.Fatal(err)
	}
	if e, _ := flag.executor(); e != nil {
		t.Skip("this machine has a CUDA device")
	}
	path := write(t, features(60))
	for _, c := range []struct {
		device string
		code   int
		says   string
	}{
		{"cuda", exitNoDevice, "calibra: no CUDA device: the driver's library libcuda.so.1 is not there\n"},
		{"cpu", 0, ""},
		{"auto", 0, "calibra: working on the CPU: no CUDA device"},
		{"gpu", exitUsage, `"gpu" is none of cpu, auto and cuda`},
	} {
		out := filepath.Join(t.TempDir(), "run")
		code, _, stderr := calibra(t, "fit", "--in", path, "--method", "ts", "--out", out, "--device", c.device)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("--device %s exits with %d and says %q", c.device, code, stderr)
		}
	}
	out := filepath.Join(t.TempDir(), "encoder")
	if code, _, stderr := calibra(t, "pretrain", "--data", "digits", "--encoder", "mlp", "--out", out, "--device", "cuda"); code != exitNoDevice {
		t.Errorf("pretrain --device cuda exits with %d and says %q", code, stderr)
	}
	t.Setenv("CALIBRA_DEVICE", "cuda")
	if code, _, _ := calibra(t, "fit", "--in", path, "--method", "ts", "--out", filepath.Join(t.TempDir(), "run")); code != exitNoDevice {
		t.Errorf("with CALIBRA_DEVICE=cuda fit exits with %d", code)
	}
	t.Setenv("CALIBRA_DEVICE", "")
	if code, _, stderr := calibra(t, "fit", "--in", path, "--method", "ts", "--out", filepath.Join(t.TempDir(), "run")); code != 0 {
		t.Errorf("with an empty CALIBRA_DEVICE fit exits with %d and says %q", code, stderr)
	}
}
