package shellcmd

import (
	"slices"
	"strings"
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
		if slices.Contains(interpreter.flags, arg) && i+1 < len(c.args) {
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
// parser cannot read it. It returns the programs.
func (d *dissector) powershell(text string, upstream []string) (programs []string) {
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
		programs = append(programs, d.run(words, upstream, "")...)
	}
	return programs
}
