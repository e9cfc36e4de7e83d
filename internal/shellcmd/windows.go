package shellcmd

import (
	"path"
	"slices"
	"strings"

	"pigrep/internal/session"
)

// Commands of PowerShell and cmd are not parsed: of each statement the first word is known,
// if it can be a program.

var (
	windowsToken = compiled("(?s)@'.*?\n'@|@\".*?\n\"@|'[^']*'|\"(?:[^\"`]|`.)*\"|<#.*?#>|#[^\n]*|`\\r?\n|[;|&(){}\n]|[^\\s;|&(){}'\"]+")
	windowsName  = compiled(`^[\w.~]*[A-Za-z][\w.:/\\+-]*$`)
)

var windowsKeywords = []string{"if", "elseif", "else", "for", "foreach", "while", "do", "until", "switch", "function", "filter", "class", "param", "begin", "process",
	"end", "try", "catch", "finally", "trap", "throw", "break", "continue", "exit", "using", "in", "not", "rem"}

func firstWords(command string) (programs []string) {
	begins, called, assigns := true, false, false
	for _, token := range windowsToken().FindAllString(command[:min(len(command), maxParsed)], -1) {
		switch token[0] {
		case ';', '|', '(', '{', '}', '\n':
			begins, called, assigns = true, false, false
		case '&':
			begins, called = true, true
		case ')':
			begins = false
		case '#', '`', '<':
		default:
			if !begins {
				begins = assigns && strings.Trim(token, "+=") == ""
				continue
			}
			begins = token == "return"
			assigns = token[0] == '$' || token[0] == '['
			if _, value, ok := strings.Cut(token, "="); ok && assigns {
				token, begins = value, value == ""
			}
			if called {
				token = strings.Trim(token, `"'`)
			}
			if name := windowsProgram(token); name != "" && len(programs) < maxPrograms {
				programs = append(programs, name)
			}
		}
	}
	return programs
}

// windowsProgram returns the program that a word names, without its directory; "" if it
// cannot be one.
func windowsProgram(word string) string {
	name := path.Base(slashed(word))
	if !windowsName().MatchString(name) || slices.Contains(windowsKeywords, strings.ToLower(word)) || word == "return" {
		return ""
	}
	return session.Cut(strings.TrimSuffix(name, ".exe"), maxTool)
}
