package shellcmd

import (
	"strings"
	"testing"
)

// Of each statement for PowerShell or cmd the first word counts, if it can be a program.
func TestFirstWords(t *testing.T) {
	for _, test := range []struct{ command, want string }{
		{"Get-Content -Raw 'a;b.md' | Select-String x; git status", "Get-Content, Select-String, git"},
		{"$x = Get-ChildItem -Path . ; $x.Length; $x += 1", "Get-ChildItem"},
		{"$x=Get-Date; [int]$y = 3", "Get-Date"},
		{`& "C:\Program Files\Git\bin\git.exe" push; .\build.ps1; ..\x\y.exe -a`, "git, build.ps1, y"},
		{"if (Test-Path x) { Remove-Item x } else { return New-Item x }", "Test-Path, Remove-Item, New-Item"},
		{"Get-ChildItem | Where-Object { $_.Length -gt 3 } | ForEach-Object { Write-Host $_ }", "Get-ChildItem, Where-Object, ForEach-Object, Write-Host"},
		{"@'\nrm -rf /\n'@ | Set-Content x", "Set-Content"},
		{"# rm x\n<# a\nb #>\nnpm `\n  install", "npm"},
		{`"a` + "`" + `"; b" | Out-File x; 3 + 4; 'q'`, "Out-File"},
		{"function Foo($a) { ls } ; foreach ($f in dir) { del $f }", "ls, del"},
		{"dir && type x || echo no", "dir, type, echo"},
		{"cd C:/x\r\nmake", "cd, make"},
		{"", ""}, {"'", ""}, {"@", ""}, {"$", ""}, {strings.Repeat("(", 1<<17), ""},
	} {
		if got := strings.Join(firstWords(test.command), ", "); got != test.want {
			t.Errorf("programs of %.80q: %s, want %s", test.command, got, test.want)
		}
	}
}
