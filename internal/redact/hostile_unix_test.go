//go:build unix

package redact

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostile are texts that begin secrets again and again.
var hostile = []string{
	"key=", "secret:=", "password=\"", "password=\\\"password=\\\\\"", "password='a b c is x'\n", "password: {", "<password ", "password >", "password is ", "=\"token\" type=\"",
	"name: password\n value: ", `"value":"x","name":"token"`, "api key ", "token token ", "adafruit_api: aaaa9", "密码:", "eyJ.eyJ", "-eyJa", "ghp_", "sk-", "SG.aaaaaaaaaaaaaaaaaaaaaaa",
	"aaaaaaaaaaaaaa.atlasv1.", "Q~", "AC", "_", "A1", "ZZ", "curl -u ", "echo x | ", "login a password ", "login(\"a\",", "Authorization: Bearer ", "cookie: a=b; ", "://a:b", "a:b:c:5432:",
	"-----BEGIN PRIVATE KEY", "Private-Lines:\nAAAAAAAAAAAAAAAAAAAA\n", "kind: Secret\n", `{"kty":`, "YWJjZGVmZ2hpamtsbW5vcA==\n", "key,password\n", "token,", "| password ", "a | secret\n", "~/.pgpass ", "AKIA0123456789ABCDEF ", "curl\n -u", "mfa.MTA", `\u0041`, "%41%70", "\x1b[", "&quot;", "[1", "=",
	"auth a ", "send \"", " -p ", "-u a -p ", " * ", "login with a ", "mainnet/", "accounts:[", "private keys ", "otp ", "chpasswd <<<", "<<EOF\n", "assword", "${A:-", "password=${A:-", "insert into t (a) values (", "insert into t (password) values ", "(\"a\",", "name\tpassword\n", "a;b;password\n", "\"", "community a", "variable \"password\" {", "securestring ", "base64 -d\n", "encrypt(", "rtmp://a/", "1, ",
}

// The time to search a text follows its length. A text that is sixteen times as long
// takes sixteen times as long, and not 256 times.
func TestTimeIsLinear(t *testing.T) {
	const n = 8 << 10
	for _, unit := range hostile {
		short, long := strings.Repeat(unit, n/len(unit)), strings.Repeat(unit, 16*n/len(unit))
		Find(short) // builds the tables
		a, b := cost(t, short), cost(t, long)
		for tries := 0; b > 60*a && tries < 3; tries++ { // something else took the time
			a, b = max(a, cost(t, short)), min(b, cost(t, long))
		}
		if b > 60*a {
			t.Errorf("%q: %v for %d bytes, %v for %d", unit, a, len(short), b, len(long))
		}
	}
}

// cost returns the processor time that the search of a text takes.
func cost(t *testing.T, text string) time.Duration {
	before := processorTime(t)
	for range 4 {
		Find(text)
	}
	return max(time.Millisecond/4, processorTime(t)-before)
}

func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkHostile(b *testing.B) {
	for _, unit := range hostile {
		text := strings.Repeat(unit, 24_000/len(unit))
		b.Run(unit, func(b *testing.B) {
			for b.Loop() {
				Find(text)
			}
		})
	}
}
