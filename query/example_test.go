package query_test

import (
	"fmt"

	"pigrep/query"
)

func ExampleParse() {
	tree, warnings := query.Parse(`+auth (token  OR "exit code") NOT conn* rm -rf knd:call`)
	fmt.Println(tree)
	fmt.Println(warnings[0])
	// Output:
	// +auth token OR "exit code" !conn* rm -rf knd:call
	// "knd:call" is searched as text: there is no field "knd", did you mean kind:?
}
