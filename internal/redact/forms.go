package redact

import (
	"strings"
)

// Forms that secrets have besides tokens and the values of names.

// url masks the password of a URL, or a secret in place of the user name. at is its
// colon, or another word of announced.
func (f *finder) url(at int) {
	s := f.s
	switch {
	case s[at] == '@': // user:password@tcp(host)
		start, end := at, at
		for start > 0 && at-start < maxGap && strings.IndexByte(" \t\n\v\"'`=", s[start-1]) < 0 {
			start--
		}
		if n := strings.IndexByte(s[start:end], ':'); n >= 0 {
			f.part(start+n+1, end, "url-password")
		}
		return
	case s[at] != ':': // jdbc:oracle:thin:user/password@host, sqlplus user/password@host
		limit := min(len(s), at+256)
		if n := strings.IndexAny(s[at+8:limit], "\n\v\"'"); n >= 0 {
			limit = at + 8 + n
		}
		slash := strings.IndexByte(s[at:limit], '/')
		if slash < 0 || !isAlnum(s[at+slash-1]) {
			return
		}
		if end := strings.LastIndexByte(s[at+slash:limit], '@'); end > 0 {
			f.part(at+slash+1, at+slash+end, "url-password")
		}
		return
	}
	if at == 0 || !isAlnum(s[at-1]) && s[at-1] != '+' || at < f.done[kindURL] {
		return
	}
	start := at + 3
	limit := min(len(s), start+maxValue)
	i := start
	colon, sign := -1, -1
	for i < limit {
		c := s[i]
		if strings.IndexByte(" \t\n\v\"'<>`\\", c) >= 0 || c == '/' && (colon < 0 || sign > 0) || (c == '?' || c == '#') && (sign > 0 || colon < 0) {
			break
		}
		if c == '/' && strings.IndexByte(s[colon+1:i], '@') < 0 && isPort(s[colon+1:i]) {
			break
		}
		if c == ':' && colon < 0 && sign < 0 {
			colon = i
		}
		if c == '@' {
			sign = i
		}
		if (c == '[' || c == ']') && sign < 0 && colon < 0 {
			break
		}
		i++
	}
	f.done[kindURL] = i
	if sign < 0 || sign+1 >= len(s) || strings.IndexByte("/?#", s[sign+1]) >= 0 || strings.IndexByte(" \t\n\"'", s[sign+1]) >= 0 {
		return
	}
	switch {
	case colon >= 0 && colon < sign:
		user, pass := s[start:colon], s[colon+1:sign]
		if strings.ContainsAny(pass, "/?") && !strings.HasPrefix(s[max(0, at-10):at], "mysql") && strings.ContainsAny(pass, "/?") && strings.Contains(pass, "/") && isPort(pass[:strings.IndexByte(pass, '/')]) {
			return // a port and a path with an @
		}
		f.part(colon+1, sign, "url-password")
		if pass == "" || len(user) >= 20 && (isRandom(user) || len(user) >= 32) || strings.EqualFold(pass, "x-oauth-basic") || strings.EqualFold(pass, "x") || pass == "api" {
			if len(user) >= 12 && isRandom(user) {
				f.part(start, colon, "url-parameter")
			}
		}
	case sign-start >= 20 && isRandom(s[start:sign]):
		f.part(start, sign, "url-parameter")
	}
}

func isPort(s string) bool { return len(s) > 0 && len(s) <= 5 && strings.Trim(s, "0123456789") == "" }

// part adds a value unless it is a placeholder.
func (f *finder) part(start, end int, rule string) {
	if start < end && !isPlaceholder(f.s[start:min(end, start+maxJudge)]) {
		f.add(start, end, rule)
	}
}

// word returns the end of the value at i: of a quoted one, or of the word.
func (f *finder) word(i int) (start, end int) {
	s := f.s
	slashes := 0
	for i < len(s) && s[i] == '\\' {
		i++
		slashes++
	}
	limit := min(len(s), i+maxValue)
	if i < len(s) && isQuote(s[i]) {
		for end = i + 1; end < limit && s[end] != s[i] && s[end] != '\n'; end++ {
		}
		return i + 1, end - min(slashes, max(0, end-i-1))
	}
	for end = i; end < limit && strings.IndexByte(" \t\n\v\"'`<>", s[end]) < 0; end++ {
	}
	return i, end
}

// parameter masks the value of a parameter of a URL or form whose name the rules for
// names do not cover. at is the name's last word.
func (f *finder) parameter(at int) {
	s := f.s
	if at == 0 || s[at-1] != '?' && s[at-1] != '&' && s[at-1] != '-' && !isNameChar(s[at-1]) && s[at-1] != ' ' && s[at-1] != ',' {
		return
	}
	i := at + strings.IndexByte(s[at:], '=') + 1
	end := i
	for limit := min(len(s), i+maxValue); end < limit && strings.IndexByte(" \t\n\v\"'`<>&#,;)", s[end]) < 0; end++ {
	}
	v := s[i:min(end, i+maxJudge)]
	inURL := s[at-1] == '?' || s[at-1] == '&' || s[at-1] == '-' && strings.LastIndexAny(s[max(0, at-40):at], "?&") >= 0
	long := len(v) >= 40 && isHex(v) // Signature=
	if len(v) >= 8 && !isPlaceholder(v) && (inURL && (isRandom(v) || long || len(v) >= 16 && hasSign(v)) || long && !strings.HasPrefix(s[at:], "code")) {
		f.add(i, end, "url-parameter")
	}
}

// authorization masks the credentials after the name of the header, or after "bearer".
func (f *finder) authorization(at int) {
	s := f.s
	if at < f.done[kindAuthorization] {
		return
	}
	if at > 0 && isAlnum(s[at-1]) {
		return
	}
	i := at
	header := lower(s[at]) == 'a'
	if header {
		i += len("authorization")
		gap := i
		for i < len(s) && i < gap+24 && strings.IndexByte("\"'` \t:=>,\\]", s[i]) >= 0 {
			i++
		}
		if !strings.ContainsAny(s[gap:i], ":=,>") {
			// name: Authorization, value: X
			if p := f.member(gap, place{value: -1, link: linkMember}); p.value >= 0 {
				i, _ = f.word(p.value)
			} else if n := i; n+6 < len(s) && strings.HasPrefix(s[n:], "value") && strings.IndexByte("\"':= \\", s[n+5]) >= 0 {
				i = n + 5
				for i < len(s) && strings.IndexByte("\"':= \\", s[i]) >= 0 {
					i++
				}
			} else {
				return
			}
		} else if p := f.member(gap, place{value: -1, link: linkMember}); p.value > i || strings.HasPrefix(s[i:], "value") {
			if p.value > 0 {
				i, _ = f.word(p.value)
			}
		}
	}
	// A scheme, and then the credential.
	word, n := scheme(s[i:])
	if !header && n == 0 {
		return
	}
	params := strings.EqualFold(word, "digest") || strings.EqualFold(word, "hawk") || strings.EqualFold(word, "oauth") || strings.HasPrefix(word, "AWS4") || strings.EqualFold(word, "snowflake") || strings.EqualFold(word, "mac") || strings.EqualFold(word, "signature")
	from := i
	if n > 0 {
		from = i + n
	}
	end := from
	limit := min(len(s), from+maxValue)
	for end < limit && strings.IndexByte(" \t\n\v\"'`<>,;)]}\\", s[end]) < 0 {
		end++
	}
	if n > 0 && params && header {
		for end < limit && strings.IndexByte("\n\v`", s[end]) < 0 && (s[end] != '\'' || s[max(0, at-1)] != '\'') {
			end++
		}
		for end > from && strings.IndexByte(" \t\"'\\", s[end-1]) >= 0 {
			end--
		}
		if strings.HasPrefix(word, "AWS4") || !strings.ContainsAny(s[from:end], "=") {
			return // the signature is found by its name
		}
		f.done[kindAuthorization] = end
		f.part(from, end, "authorization")
		return
	}
	v := s[from:min(end, from+maxJudge)]
	f.done[kindAuthorization] = max(from, i)
	if isPlaceholder(v) || len(v) < 6 || isCode(s, from, end) {
		return
	}
	wellKnown := n > 0 && header
	switch {
	case len(v) >= 8 && isRandom(v), wellKnown && len(v) >= 8 && hasSign(v) && !isWordy(v), wellKnown && strings.EqualFold(word, "basic") && beginsBasic(v), len(v) >= 24 && strings.ContainsAny(v, "+/=") && hasSign(v):
		f.done[kindAuthorization] = end
		f.add(from, end, "authorization")
	}
}

func beginsBasic(v string) bool {
	plain := decoded([]byte(strings.TrimRight(v, "=")))
	return strings.Contains(plain, ":")
}

// scheme returns the scheme of authorization at the start of s and its length with
// the space after it.
func scheme(s string) (string, int) {
	n := 0
	for n < len(s) && n < 24 && (isAlnum(s[n]) || s[n] == '-' || s[n] == '_') {
		n++
	}
	word := s[:n]
	if n == len("bearer") && n+1 < len(s) && s[n] == ',' && strings.EqualFold(word, "bearer") { // of WebSocket
		n++
		return word, n + len(s[n:]) - len(strings.TrimLeft(s[n:], " "))
	}
	if n < 2 || n == len(s) || s[n] != ' ' && s[n] != '\t' && s[n] != ':' && s[n] != '=' && s[n] != softBreak {
		return "", 0
	}
	if (s[n] == ':' || s[n] == '=') && !strings.EqualFold(word, "bearer") && !strings.EqualFold(word, "PVEAPIToken") && !strings.EqualFold(word, "apikey") {
		return "", 0
	}
	n++
	for n < len(s) && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	return word, n
}

// cookie masks the values of a header, and those of a line in a file of cookies.
func (f *finder) cookie(at int) {
	s := f.s
	if s[at] == '\t' {
		start, end := f.line(at)
		fields := strings.Split(s[start:end], "\t")
		if len(fields) == 7 && len(fields[6]) >= 8 && f.once(kindCookie, at, end) {
			f.part(end-len(fields[6]), end, "cookie")
		}
		return
	}
	if at < f.done[kindCookie] {
		return
	}
	i := at + len("cookie")
	gap := i
	for i < len(s) && i < gap+12 && strings.IndexByte("\"'` \t:\\", s[i]) >= 0 {
		i++
	}
	if n := skipBlank(s, i, len(s)); n+1 < len(s) && s[n] == '=' && s[n+1] != '=' { // cookie = "x=y"
		if n = skipBlank(s, n+1, len(s)); n < len(s) && isQuote(s[n]) {
			i = n + 1
		}
	}
	if !strings.ContainsAny(s[gap:i], ":=") {
		return
	}
	end := i
	if !strings.Contains(s[i:min(len(s), i+maxGap)], "=") {
		return
	}
	for limit := min(len(s), i+maxValue); end < limit && strings.IndexByte("\n\v\"'", s[end]) < 0; end++ {
	}
	f.done[kindCookie] = i + strings.IndexByte(s[i:], '=')
	end -= len(s[i:end]) - len(strings.TrimRight(s[i:end], " \t\\"))
	name, value, ok := strings.Cut(s[i:end], "=")
	if !ok || strings.ContainsAny(name, " ()[]{},;<>$") || name == "" {
		return
	}
	f.done[kindCookie] = end
	// One of the values must be long enough to mean something.
	for {
		v, rest, _ := strings.Cut(value, ";")
		if v = strings.TrimSpace(v); len(v) >= 8 && !strings.ContainsAny(v, " ()") && !isPlaceholder(v) {
			f.add(i, end, "cookie")
			return
		}
		if _, value, ok = strings.Cut(rest, "="); !ok {
			return
		}
	}
}

// pem masks a private key in armour, to its end or that of the text. at is in its
// first line.
func (f *finder) pem(at int) {
	s := f.s
	if at < f.done[kindPEM] {
		return
	}
	from := max(0, at-64)
	begin := strings.LastIndex(s[from:at], "-----BEGIN ")
	if begin < 0 {
		begin = strings.LastIndex(s[from:at], "---- BEGIN ")
	}
	if begin < 0 || strings.ContainsAny(s[from+begin:at], "\n\v") {
		return
	}
	start := from + begin
	head := strings.Index(s[at:min(len(s), at+40)], "----")
	if head < 0 {
		return
	}
	body := at + head
	body += len(s[body:]) - len(strings.TrimLeft(s[body:], "-"))
	end := len(s)
	if n := strings.Index(s[body:], "-END "); n >= 0 {
		end = body + n + len("-END ")
		end += max(0, strings.Index(s[end:min(len(s), end+64)], "--"))
		end += len(s[end:]) - len(strings.TrimLeft(s[end:], "-"))
	}
	f.done[kindPEM] = end
	f.add(start, end, "private-key")
}

// putty masks the lines of a private key of PuTTY, and the code that proves it.
func (f *finder) putty(at int) {
	s := f.s
	start, end := f.line(at)
	if lower(s[at+len("private-")]) == 'm' {
		if v := strings.TrimSpace(s[at+len("private-mac:") : end]); isHex(v) && len(v) >= 20 {
			f.add(end-len(strings.TrimLeft(s[at+len("private-mac:"):end], " ")), end, "private-key")
		}
		return
	}
	_ = start
	i := end + 1
	for i < len(s) {
		j := i
		for j < len(s) && (base64Chars[s[j]] || s[j] == '=' || s[j] == ' ') {
			j++
		}
		if j-i < 16 || j < len(s) && s[j] != '\n' && s[j] != softBreak {
			break
		}
		i = j + 1
	}
	if i > end+1 {
		f.add(end+1, min(i, len(s)+1)-1, "private-key")
	}
}

// jwk masks the private members of a JSON Web Key. at is its member kty.
func (f *finder) jwk(at int) {
	s := f.s
	start := max(0, at-maxValue)
	start += max(0, strings.LastIndexByte(s[start:at], '{'))
	end := min(len(s), at+maxValue)
	if n := strings.IndexByte(s[at:end], '}'); n >= 0 {
		end = at + n
	}
	if start < f.done[kindJWK] {
		start = f.done[kindJWK]
	}
	f.done[kindJWK] = end
	for i := start; i < end; {
		n := strings.IndexByte(s[i:end], ':')
		if n < 0 {
			break
		}
		name := strings.Trim(s[max(start, i+n-8):i+n], "\\ \t\n\v{,")
		name = name[strings.LastIndexAny(name, ", {\n")+1:]
		i += n + 1
		switch strings.Trim(name, "\"'\\ ") {
		case "d", "p", "q", "dp", "dq", "qi", "k":
			from, to := f.word(skipSpace(s, i, end))
			if to-from >= 8 {
				f.part(from, to, "private-key")
			}
			i = max(i, to)
		}
	}
}

// sentence masks a password in a sentence: the password is X. at is its word for password.
func (f *finder) sentence(at int) {
	s := f.s
	if at > 0 && isAlnum(s[at-1]) || at < f.done[kindTold] {
		return
	}
	i := at
	limit := min(len(s), at+maxGap)
	verb := false
	for words := 0; words < 7; words++ {
		n := i
		for n < limit && isAlnum(s[n]) {
			n++
		}
		word := strings.ToLower(s[i:n])
		if words > 0 && (word == "" || verb && word != "now" && word != "to" && word != "set" && word != "be" && word != "changed") {
			break
		}
		if words > 0 && (word == "is" || word == "was" || word == "to") {
			verb = true
		} else if verb && !(n < limit && (s[n] == ' ' || s[n] == ':')) {
			break
		}
		i = n
		if i < limit && s[i] == ':' && verb {
			i++
		}
		if i >= limit || s[i] != ' ' && s[i] != '\t' {
			break
		}
		i = skipBlank(s, i, limit)
	}
	f.done[kindTold] = at + 4
	if !verb {
		return
	}
	quote := i < len(s) && isQuote(s[i])
	start, end := f.word(i)
	value := s[start:end]
	if !quote {
		if n := strings.IndexAny(value, ",;"); n >= 0 {
			value = value[:n]
		}
		value = strings.TrimRight(value, ".!?):*")
	}
	end = start + len(value)
	if len(value) >= 4 && len(value) < maxGap && hasSign(value) && !isPlaceholder(value) && !isPath(value) && !(quote && strings.Contains(value, " ")) {
		f.add(start, end, "told-password")
	}
}

// callWords are calls whose arguments include a password or token.
var callWords = []string{"login(", "signin(", "sign_in(", "authenticate(", "auth(", "auth=(", "getconnection(", "passwordauthentication(", "basicauth(", "basic_auth(", "setbasicauth(", "settoken(", "set_token(", "setapikey(", "set_api_key(", "setpassword(", "set_password(", "withtoken(", "statictoken(", "usernamepassword(", "connect(", "credentials(", "credential(", "twilio(", "openai(", "anthropic(", "stripe(", "webclient(", "octokit(", "pinecone(", "algoliasearch(", "mailgun(", "mistral(", "groq(", "tavilyclient(", "telebot(", "securestring", "identified by", "identified with"}

// call masks the last quoted argument of a call if it looks like a password or token.
func (f *finder) call(at int) {
	s := f.s
	i := at
	n := strings.IndexByte(s[i:min(len(s), i+24)], '(')
	switch {
	case lower(s[at]) == 'i', n < 0: // IDENTIFIED BY 'x', ConvertTo-SecureString "x"
		i += len("identified by")
		if n := strings.Index(s[at:min(len(s), at+maxGap)], " BY "); n > 0 {
			i = at + n + len(" BY ")
		}
		if lower(s[at]) == 's' {
			i = at + len("securestring")
		}
		if i > len(s) {
			return
		}
		i = skipBlank(s, i, len(s))
		if strings.HasPrefix(strings.ToLower(s[i:min(len(s), i+9)]), "-string ") {
			i += len("-string ")
		}
		if strings.HasPrefix(strings.ToUpper(s[i:min(len(s), i+9)]), "PASSWORD ") {
			i += len("PASSWORD ")
		}
		if i < len(s) && isQuote(s[i]) && s[i] != '`' {
			start, end := f.word(i)
			f.part(start, end, "password")
		}
		return
	}
	i += n + 1
	limit := min(len(s), i+256)
	start, end, arg := -1, -1, 0
	for ; arg < 4; arg++ {
		i = skipSpace(s, i, limit)
		if i < limit && isAlnum(s[i]) { // an argument that is a name
			_, n := typeName(s[i:limit])
			if i = skipSpace(s, i+n, limit); i >= limit || s[i] != ',' {
				break
			}
			i++
			continue
		}
		if i >= limit || !isQuote(s[i]) && s[i] != '\\' {
			break
		}
		start, end = f.word(i)
		i = end
		for i < limit && (s[i] == '\\' || isQuote(s[i])) {
			i++
		}
		i = skipSpace(s, i, limit)
		if i >= limit || s[i] != ',' {
			break
		}
		i++
	}
	if start < 0 || i >= len(s) || strings.IndexByte("),}.", s[i]) < 0 {
		return
	}
	value := s[start:min(end, start+maxJudge)]
	if arg > 0 && len(value) >= 6 && len(value) < 64 && hasSign(value) && !isPlaceholder(value) && !isSentence(value) && !strings.ContainsAny(value, "/.@:(") && (lower(s[at]) == 'l' || lower(s[at]) == 'a' || lower(s[at]) == 'b' || lower(s[at]) == 'g' || lower(s[at]) == 'p') {
		f.add(start, end, "login")
		return
	}
	if len(value) >= 6 && !strings.Contains(value, "://") && !isPlaceholder(value) && !strings.Contains(value, " ") && !isPath(value) && (isSpiked(value) || hasStrongSign(value) && !strings.ContainsAny(value, "/.@") || len(value) >= 12 && isRandom(value)) {
		f.add(start, end, "login")
	}
}

// netrc masks the passwords of .netrc and .pgpass.
func (f *finder) netrc(at int) {
	s := f.s
	if s[at] == ':' { // host:port:database:user:password
		start, end := f.line(at)
		if at < f.done[kindNetrc] {
			return
		}
		f.done[kindNetrc] = end
		line := strings.TrimRight(s[start:end], " ")
		fields := strings.SplitN(strings.TrimLeft(line, " "), ":", 5)
		if len(line) < maxJudge && len(fields) == 5 && !isNumber(fields[3]) && !strings.ContainsAny(strings.Join(fields[:4], ""), " \t()\"'/<>{}=") && !strings.Contains(fields[4], " ") {
			end = start + len(line)
			f.part(end-len(fields[4]), end, "login")
		}
		return
	}
	if at > 0 && isAlnum(s[at-1]) {
		return
	}
	i := at + len("login")
	gap := i
	i = skipSpace(s, i, len(s))
	if i == gap {
		return
	}
	_, i = f.word(i)
	i = skipSpace(s, i, min(len(s), i+40))
	if !strings.HasPrefix(s[i:], "password") && !strings.HasPrefix(s[i:], "passwd") {
		return
	}
	_, i = f.word(i)
	if i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n') {
		start, end := f.word(skipSpace(s, i, len(s)))
		f.part(start, end, "login")
	}
}

// kubernetes masks the data of a Secret.
func (f *finder) kubernetes(at int) {
	s := f.s
	if at < f.done[kindKubernetes] {
		return
	}
	start := max(0, at-16<<10)
	end := min(len(s), at+16<<10)
	if n := strings.LastIndex(s[start:at], "\n---"); n >= 0 {
		start += n
	}
	if n := strings.Index(s[at:end], "\n---"); n >= 0 {
		end = at + n
	}
	start = max(start, f.done[kindKubernetes])
	if start >= end {
		return
	}
	f.done[kindKubernetes] = end
	indent := -1 // of data:
	for i := start; i < end; {
		n := strings.IndexAny(s[i:end], "\n\v")
		if n < 0 {
			n = end - i
		}
		text := skipBlank(s, i, i+n)
		line := strings.TrimRight(s[text:i+n], " ")
		name := strings.Trim(strings.TrimRight(line, " {"), "\"'")
		switch {
		case name == "data\":" || name == "data:" || name == "stringData:" || name == "stringData\":":
			indent = text - i
		case indent >= 0 && text-i <= indent && line != "":
			indent = -1
		case indent >= 0:
			if c := strings.IndexByte(line, ':'); c > 0 {
				from, to := f.word(skipBlank(s, text+c+1, i+n))
				if to-from >= 4 && to <= i+n && s[from] != '|' && s[from] != '{' {
					f.part(from, to, "secret")
				}
			}
		}
		i += n + 1
	}
}
