package scope_test

import (
	"fmt"

	"pigrep/internal/session"
	"pigrep/scope"
)

func ExampleParse() {
	s, err := scope.Parse("conversations")
	fmt.Println(s.Holds(session.KindCall), s.Holds(session.KindDetails), err)
	_, err = scope.Parse("everything")
	fmt.Println(err)
	// Output:
	// true false <nil>
	// unknown scope "everything": use one of prompts, conversations, all
}
