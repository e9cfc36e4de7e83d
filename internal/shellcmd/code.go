package shellcmd

import (
	"path"
	"slices"
	"strings"

	"pigrep/internal/session"
)

// Code in languages other than the shell's is not parsed. Regular expressions find
// what it does to files.

// Files in code. The path is in the group that matched.
var (
	codeWrites = compiled(`\bopen\(\s*(?:[\w.]+\(\s*)?["']([^"'\n]+)["']\)?\s*,\s*(?:mode\s*=\s*)?["'][wax]` +
		`|\b(?:remove|unlink|rmtree|removedirs|rmdir|makedirs|mkdir|truncate|rm_rf|rm_r|rm_f|remove_tree|rm|cp|(?:write|append)File|(?:write|append)FileSync|(?:rm|unlink|rmdir|mkdir|truncate|cp)Sync|file_put_contents|File\.write)\b\(?\s*(?:[\w.]+\(\s*)?["']([^"'\n]+)["']` +
		`|\bPath\(\s*["']([^"'\n]+)["']\s*\)(?:\.\w+\(\))?\.(?:write_text|write_bytes|unlink|rmdir|mkdir|touch)\(`)
	codeStrings = compiled(`"([^"\n]*)"|'([^'\n]*)'`)
)

// code returns the code passed to an interpreter as text, "" if there is none.
func (c *command) code(heredoc string) string {
	interpreter, ok := programs()["code"][interpreterOf(c.program)]
	if !ok {
		return ""
	}
	for i, arg := range c.args {
		if slices.Contains(interpreter.Flags, arg) && i+1 < len(c.args) {
			return c.args[i+1]
		}
	}
	if first := firstArgument(c.args); first == "" || first == "-" {
		return heredoc
	}
	return ""
}

// interpreterOf returns the program without its version: python for python3.12.
func interpreterOf(program string) string {
	if rest, ok := strings.CutPrefix(program, "python"); ok && strings.Trim(rest, "0123456789.") == "" {
		return "python"
	}
	return program
}

// inspect records the files that code names.
func (d *dissector) inspect(code string) {
	if len(code) > maxParsed {
		code = code[:maxParsed]
	}
	for _, m := range codeWrites().FindAllStringSubmatch(code, maxFound) {
		for _, path := range m[1:] {
			d.access(path, true)
		}
	}
	for _, m := range codeStrings().FindAllStringSubmatch(code, maxFound) {
		if text := m[1] + m[2]; strings.ContainsAny(text, "./~") {
			d.access(text, false)
		}
	}
}

const maxFound = 100 // files in one piece of code

// powershell splits PowerShell code into commands at its separators; the bash
// parser cannot read it.
func (d *dissector) powershell(text string, upstream []string) {
	for _, mark := range []string{"DownloadString", "DownloadFile", "DownloadData"} {
		if strings.Contains(text, mark) {
			upstream = append(upstream[:len(upstream):len(upstream)], "iwr")
		}
	}
	var pieces [][]word
	for _, piece := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";|(){}&\n", r) }) {
		if words := split(piece); len(words) > 0 {
			pieces = append(pieces, words)
			upstream = append(upstream[:len(upstream):len(upstream)], words[0].text)
		}
	}
	for _, words := range pieces {
		d.run(words, upstream, "")
	}
}

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
	command = withoutArmour(command)
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
