package redact_test

import (
	"fmt"

	"pigrep/internal/redact"
)

func ExampleText() {
	fmt.Println(redact.Text("git clone https://user:hunter2@example.org/app"))
	// Output:
	// git clone https://user:[redacted:url-password]@example.org/app
}
