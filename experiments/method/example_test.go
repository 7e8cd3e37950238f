package method_test

import (
	"errors"
	"fmt"

	"calibra/data"
	"calibra/experiments/method"
)

func ExampleFind() {
	_, err := method.Find("magic")
	var input *data.InputError
	fmt.Println(errors.As(err, &input))
	m, err := method.Find("vq")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Name, "needs", m.Needs)
	// Output:
	// true
	// vq needs [features]
}
