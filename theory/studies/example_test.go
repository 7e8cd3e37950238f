package studies_test

import (
	"context"
	"fmt"

	"calibra/theory"
	"calibra/theory/studies"
)

// One study of the paper's claims, in its quick design.
func ExampleStudy_Run() {
	studies, err := studies.Find("propositions")
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := studies[0].Run(context.Background(), theory.Settings{Effort: theory.Quick})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Study, "failures:", len(report.Failures()))
	// Output: propositions failures: 0
}
