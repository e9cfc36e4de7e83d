package redact

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// How a command takes a secret.
type option int

const (
	whole    option = iota // -p secret
	attached               // -psecret, and not the next word
	pair                   // -u user:secret
	percent                // -U user%secret
	assigned               // -b name=secret
	either                 // -p secret, -psecret
)

// commands are programs with the options that take a secret. Long options that end
// in password, token or the like are found by their names.
var commands = sync.OnceValue(func() map[string]map[string]option {
	return map[string]map[string]option{
		"curl":          {"-u": pair, "--user": pair, "-U": pair, "--proxy-user": pair, "--oauth2-bearer": whole, "-E": pair, "--cert": pair, "-b": assigned, "--cookie": assigned, "--pass": whole, "--tlspassword": whole},
		"wget":          {"--http-user": whole, "--auth": pair},
		"http":          {"-a": pair, "--auth": pair},
		"https":         {"-a": pair, "--auth": pair},
		"xh":            {"-a": pair, "--auth": pair},
		"sshpass":       {"-p": either},
		"mysql":         {"-p": attached},
		"mysqldump":     {"-p": attached},
		"mysqladmin":    {"-p": attached},
		"mysqlimport":   {"-p": attached},
		"mariadb":       {"-p": attached},
		"mariadb-dump":  {"-p": attached},
		"mariadb-admin": {"-p": attached},
		"redis-cli":     {"-a": whole, "--pass": whole, "-u": pair},
		"mongo":         {"-p": whole},
		"mongosh":       {"-p": whole},
		"mongodump":     {"-p": whole},
		"mongorestore":  {"-p": whole},
		"cqlsh":         {"-p": whole},
		"sqlcmd":        {"-P": whole},
		"bcp":           {"-P": whole},
		"ldapsearch":    {"-w": whole},
		"ldapadd":       {"-w": whole},
		"ldapmodify":    {"-w": whole},
		"ldappasswd":    {"-w": whole, "-s": whole, "-a": whole},
		"smbclient":     {"-U": percent, "--user": percent},
		"rpcclient":     {"-U": percent},
		"mosquitto_pub": {"-P": whole},
		"mosquitto_sub": {"-P": whole},
		"ipmitool":      {"-P": whole},
		"zip":           {"-P": whole},
		"unzip":         {"-P": whole},
		"7z":            {"-p": attached},
		"7za":           {"-p": attached},
		"rar":           {"-p": attached, "-hp": attached},
		"unrar":         {"-p": attached},
		"docker":        {"-p": whole},
		"podman":        {"-p": whole},
		"nerdctl":       {"-p": whole},
		"buildah":       {"-p": whole},
		"skopeo":        {"-p": whole, "--creds": pair, "--src-creds": pair, "--dest-creds": pair},
		"helm":          {"-p": whole},
		"registry":      {"-p": whole},
		"oras":          {"-p": whole},
		"crane":         {"-p": whole},
		"az":            {"-p": whole},
		"oc":            {"-p": whole},
		"cf":            {"-p": whole},
		"snowsql":       {"-p": whole},
		"rabbitmqadmin": {"-p": whole},
		"xfreerdp":      {"/p:": attached},
		"nuget":         {"-p": whole, "-Password": whole, "-ApiKey": whole},
		"dotnet":        {"-k": whole, "-p": whole},
		"openssl":       {"-k": whole},
		"htpasswd":      {},
		"useradd":       {"-p": whole},
		"usermod":       {"-p": whole},
		"twine":         {"-p": whole},
		"vercel":        {"-t": whole},
		"gh":            {"--body": whole, "-b": whole},
		"echo":          {},
		"printf":        {},
	}
})

// onlyWith are words without which the options of a command take no secret.
var onlyWith = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"docker": "login", "podman": "login", "nerdctl": "login", "buildah": "login", "helm": "login", "registry": "login", "oras": "login", "crane": "login",
		"az": "login", "oc": "login", "cf": "login", "gh": "secret", "dotnet": "push", "nuget": "push",
	}
})

// positional are commands with the words before a secret that has no option; an
// asterisk is any word.
var positional = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"wpa_passphrase": {"*"},
		"rabbitmqctl":    {"add_user *", "change_password *"},
		"net":            {"user *"},
		"poetry":         {"config http-basic.* *", "config pypi-token.*"},
		"redis-cli":      {"auth"},
		"ngrok":          {"authtoken", "config add-authtoken"},
		"mc":             {"alias set * * *", "config host add * * *"},
	}
})

func commandWords() []string {
	return slices.Concat(slices.Sorted(maps.Keys(commands())), slices.Sorted(maps.Keys(positional())), []string{"create secret "})
}

// arg is a word of a command.
type arg struct{ start, end int }

// command masks the secrets among the arguments of a command.
func (f *finder) command(at int) {
	s := f.s
	if at < f.done[kindCommand] || at > 0 && (isNameChar(s[at-1]) || s[at-1] == '@') {
		return
	}
	_, end := f.line(at)
	args, stop := f.args(at, end)
	if len(args) < 2 {
		return
	}
	name := s[args[0].start:args[0].end]
	if name == "create" && len(args) > 3 {
		for i, a := range args[2:] {
			v, ok := strings.CutPrefix(s[a.start:a.end], "--from-literal")
			if ok && v == "" && i+3 < len(args) {
				a = args[i+3]
				v = s[a.start:a.end]
			}
			if n := strings.IndexByte(strings.TrimPrefix(v, "="), '='); ok && n > 0 {
				f.part(a.end-len(strings.TrimPrefix(v, "="))+n+1, a.end, "login")
			}
		}
		return
	}
	for _, before := range positional()[name] {
		f.positioned(args, strings.Fields(before))
	}
	options, ok := commands()[strings.TrimSuffix(name, ".exe")]
	if !ok {
		return
	}
	f.done[kindCommand] = args[0].end
	if word := onlyWith()[name]; word != "" && !slices.ContainsFunc(args[1:min(len(args), 6)], func(a arg) bool { return s[a.start:a.end] == word }) {
		return
	}
	switch name {
	case "echo", "printf":
		f.piped(args, stop)
		return
	case "htpasswd":
		f.htpasswd(args)
		return
	}
	for i := 1; i < len(args); i++ {
		a := args[i]
		w := s[a.start:a.end]
		if name == "openssl" && strings.HasPrefix(w, "pass:") {
			f.part(a.start+len("pass:"), a.end, "login")
			continue
		}
		flag, kind, ok := f.option(w, options)
		if !ok {
			continue
		}
		v := arg{a.start + len(flag), a.end}
		if v.start < v.end && s[v.start] == '=' {
			v.start++
		}
		if v.start == v.end {
			if kind == attached || i+1 == len(args) {
				continue
			}
			i++
			v = args[i]
			if s[v.start] == '-' && kind != whole {
				i--
				continue
			}
		}
		f.argument(v, kind)
	}
}

// positioned masks the argument after words that a command begins with.
func (f *finder) positioned(args []arg, words []string) {
	if len(args) < len(words)+2 {
		return
	}
	for i, w := range words {
		got := strings.ToLower(f.s[args[i+1].start:args[i+1].end])
		if prefix, ok := strings.CutSuffix(w, "*"); got != w && !(ok && strings.HasPrefix(got, prefix)) {
			return
		}
	}
	v := f.unquoted(args[len(words)+1])
	if v.start < v.end && strings.IndexByte("-/*", f.s[v.start]) < 0 {
		f.part(v.start, v.end, "login")
	}
}

// option returns the option that an argument is or begins with.
func (f *finder) option(w string, options map[string]option) (flag string, kind option, ok bool) {
	if kind, ok := options[w]; ok {
		return w, kind, true
	}
	if name, _, found := strings.Cut(w, "="); found {
		if kind, ok := options[name]; ok {
			return name, kind, true
		}
	}
	if len(w) > 2 && w[0] == '-' && w[1] != '-' {
		if kind, ok := options[w[:2]]; ok && kind != whole {
			return w[:2], kind, true
		}
	}
	if strings.HasPrefix(w, "/p:") {
		if kind, ok := options["/p:"]; ok {
			return "/p:", kind, true
		}
	}
	return "", 0, false
}

// argument masks the secret in the value of an option.
func (f *finder) argument(v arg, kind option) {
	s := f.s
	v = f.unquoted(v)
	switch kind {
	case pair, percent, assigned:
		sep := byte(':')
		switch kind {
		case percent:
			sep = '%'
		case assigned:
			sep = '='
		}
		if n := strings.IndexByte(s[v.start:v.end], sep); n >= 0 && (kind != assigned || v.end-v.start-n > 8) && !strings.Contains(s[v.start:v.end], "://") {
			from := arg{v.start + n + 1, v.end}
			if from.start == from.end && n >= 12 && isRandom(s[v.start:v.start+n]) { // curl -u key:
				f.part(v.start, v.start+n, "login")
				return
			}
			f.part(from.start, from.end, "login")
		}
	default:
		if v.end-v.start >= 3 || kind == whole && v.end > v.start && !isDigit(s[v.start]) {
			f.part(v.start, v.end, "login")
		}
	}
}

func (f *finder) unquoted(v arg) arg {
	s := f.s
	for v.start < v.end && (isQuote(s[v.start]) || s[v.start] == '\\') {
		v.start++
	}
	for v.end > v.start && (isQuote(s[v.end-1]) || s[v.end-1] == '\\') {
		v.end--
	}
	return v
}

// args splits a command into its words. stop is where it ends.
func (f *finder) args(at, end int) (args []arg, stop int) {
	s := f.s
	args = f.words[:0]
	defer func() { f.words = args }()
	for i := at; i < end && len(args) < 32; {
		i = skipBlank(s, i, end)
		if i == end || strings.IndexByte("|;<>", s[i]) >= 0 || s[i] == '&' {
			return args, i
		}
		start := i
		for i < end && strings.IndexByte(" \t|;<>", s[i]) < 0 && (s[i] != '&' || i+1 < end && s[i+1] != '&' && s[i+1] != ' ') {
			if s[i] == '"' || s[i] == '\'' {
				n := strings.IndexByte(s[i+1:end], s[i])
				if n < 0 {
					i++
					continue
				}
				i += n + 1
			}
			i++
		}
		if i == start {
			return args, i
		}
		args = append(args, arg{start, i})
	}
	return args, end
}

// piped masks what echo writes into a command that reads a password.
func (f *finder) piped(args []arg, stop int) {
	s := f.s
	if stop >= len(s) || s[stop] != '|' {
		return
	}
	args = slices.Clone(args)
	next, _ := f.args(stop+1, min(len(s), stop+160))
	if len(next) == 0 {
		return
	}
	reads := false
	for _, a := range next {
		switch w := s[a.start:a.end]; {
		case w == "chpasswd", w == "passwd", w == "-S", strings.HasSuffix(w, "--password-stdin"), w == "--stdin", w == "--with-token", w == "cryptsetup", strings.HasPrefix(w, "stdin"), w == "--passphrase-fd", w == "--pinentry-mode", w == "kinit":
			reads = true
		}
	}
	if !reads {
		return
	}
	v := f.unquoted(args[len(args)-1])
	if n := strings.IndexByte(s[v.start:v.end], ':'); n > 0 {
		v.start += n + 1
	}
	for strings.HasSuffix(s[v.start:v.end], "\v") {
		v.end--
	}
	f.part(v.start, v.end, "login")
}

// htpasswd masks the last argument, if the password is given as an argument.
func (f *finder) htpasswd(args []arg) {
	s := f.s
	words, batch := 0, false
	for _, a := range args[1:] {
		if w := s[a.start:a.end]; w[0] == '-' {
			batch = batch || strings.Contains(w, "b")
		} else {
			words++
		}
	}
	if batch && words >= 2 {
		v := f.unquoted(args[len(args)-1])
		f.part(v.start, v.end, "login")
	}
}
