package paper_test

import (
	"fmt"

	"calibra/experiments/paper"
)

func ExampleFind() {
	n, ok := paper.Find([]string{"main"}, paper.Number{Dataset: "cifar10", Backbone: "resnet", Method: "vq", Slots: 64, Codewords: 64, Metric: "lce"})
	fmt.Printf("%t %.4f±%.4f\n", ok, n.Mean, n.SD)
	// Output: true 0.0059±0.0002
}
