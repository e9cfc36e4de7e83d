// Package e2e tests packages together: indexing, searching and auditing whole
// directories of session files, without the program around them. Package program
// below it tests that.
package e2e
