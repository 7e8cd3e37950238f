package report

type Section struct{}
