// Package studies has the studies of the paper's claims, each in a file with the rows that judge it, and what they
// found in English. studies.go lists them.
//
// The command runs all or some, under one seed; how often each row is out of its band under many is a loop:
//
//	calibra theory fast                        the small designs, under a minute
//	calibra theory all --out DIR               the designs of the specification
//	for seed in {0..99}; do calibra theory fast --seed $seed --out DIR/$seed; done; grep -h ,FAIL DIR/*/results.csv | cut -d, -f1,2 | sort | uniq -c
//	calibra theory rate --set slots=8 --set codewords=20 --set zipf=1.2 --set map=vq
//
// The number of replicates is chosen so that rate, misspecified, intervals and growth notice a covariance that is wrong
// by a tenth with probability .9 (their rows power). testdata/mutations.md shows which rows notice which fault,
// testdata/seeds.md the rows under many seeds.
//
// [Findings] generates FINDINGS.md from testdata/results.csv. It lists which claims hold, which do not hold as printed,
// and what that means in practice. After a change of a study, run
//
//	calibra theory fast --out DIR && cp DIR/results.csv theory/studies/testdata/ && cp DIR/noise-limit.svg theory/studies/
//	go test ./theory/studies -run Findings -update
package studies
