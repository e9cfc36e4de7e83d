package files

import "testing"

func TestDevicesByName(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		`C:\x\NUL`: `\\.\NUL`, `C:\x\con`: `\\.\con`, `\\.\pipe\x`: `\\.\pipe\x`,
		`C:\x\nullable`: "", `C:\x\a.html`: "", `C:\`: "", `C:\x\a:b`: "",
	} {
		if got := device(path); got != want {
			t.Errorf("device(%s) = %q, want %q", path, got, want)
		}
	}
	o, err := FindOutput(`C:\x\NUL`)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Write(t.Context(), 0o600, text("")); o.Kind != Stream || err != nil {
		t.Errorf("kind %d, %v", o.Kind, err)
	}
}
