package paper

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTranscription holds the csv files to the tables of the paper's source, number by
// number in order.
func TestTranscription(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "tables.tex"))
	if err != nil {
		t.Fatal(err)
	}
	tex := string(raw)
	for name, label := range map[string]string{
		"main": "tab:allResults", "weather": "tab:results_weather", "weather-ood": "tab:results_weather_ood",
		"convnext": "tab:results_convnext", "vit": "tab:results_vit", "ablation": "tab:ablation",
		"slots": "tab:ablationSlots", "codebook": "tab:ablationCodebook",
	} {
		at := strings.Index(tex, `\label{`+label+`}`)
		table := tex[at : at+strings.Index(tex[at:], `\end{table`)]
		printed := regexp.MustCompile(`(\d*\.\d+)\s*\\pm\s*(\d*\.\d+)`).FindAllStringSubmatch(table, -1)
		numbers := all()[name]
		if len(printed) != len(numbers) {
			t.Errorf("%s has %d numbers, the paper %d", name, len(numbers), len(printed))
			continue
		}
		for i, n := range numbers {
			if mean, sd := parse(t, printed[i][1]), parse(t, printed[i][2]); n.Mean != mean || n.SD != sd {
				t.Errorf("%s: %+v, the paper prints %v±%v", name, n, mean, sd)
			}
		}
	}
}

func TestFind(t *testing.T) {
	vq := Number{Dataset: "cifar10", Backbone: "resnet", Method: "vq", Slots: 64, Codewords: 64, Metric: "lce"}
	if n, ok := Find([]string{"main"}, vq); !ok || n.Mean != 0.0059 || n.SD != 0.0002 {
		t.Errorf("LCE of VQ on cifar10: %+v", n)
	}
	vq.Slots = 32
	if n, ok := Find([]string{"main"}, vq); ok {
		t.Errorf("the main table has no 32 slots, found %+v", n)
	}
	if n, ok := Find([]string{"slots"}, vq); !ok || n.Mean != 0.0076 {
		t.Errorf("LCE of 32 slots: %+v", n)
	}
	if n, ok := Find([]string{"main"}, Number{Dataset: "letter", Method: "ts", Metric: "nll"}); ok {
		t.Errorf("the paper has no letters, found %+v", n)
	}
}

func parse(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
