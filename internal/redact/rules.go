package redact

import (
	"slices"
	"strings"
)

// Rule describes one shape of secret.
type Rule struct {
	ID      string
	What    string   // what it masks, for people
	Near    []string // lower case, two bytes or more; a line with none of these words has no such secret
	Pattern string   // the secret is the last group that matched, or the whole match
	Lines   bool     // it spans lines
	Values  bool     // the secret must look like a value, not like a placeholder or code
}

// Rules is the source of masking and of the table in docs/redact.md. If several
// rules match at the same place, the first one names it.
var Rules = []Rule{
	{ID: "private-key", What: "private keys in PEM or PGP armour, up to the end of the key or of the text",
		Near: []string{"private key"}, Lines: true,
		Pattern: `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`},
	{ID: "age-key", What: "age identities", Near: []string{"age-secret-key-1"}, Pattern: `\bAGE-SECRET-KEY-1[0-9A-Z]{20,}`},
	{ID: "jwt", What: "JSON Web Tokens", Near: []string{"eyj"}, Pattern: `\beyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?`},

	{ID: "anthropic-key", What: "Anthropic keys (sk-ant-…)", Near: []string{"sk-ant-"}, Pattern: `\bsk-ant-[\w-]{12,}`},
	{ID: "openai-key", What: "OpenAI keys and keys of the same form (sk-…, sk-proj-…)", Near: []string{"sk-"},
		Pattern: `\bsk-(?:(?:proj|svcacct|admin|or-v1|lf)-[\w-]{20,}|[A-Za-z0-9]{20,})`},
	{ID: "model-key", What: "keys of Groq, xAI, Perplexity, Replicate, Hugging Face, Fireworks and Cerebras",
		Near:    []string{"gsk_", "xai-", "pplx-", "r8_", "hf_", "fw_", "csk-"},
		Pattern: `\b(?:gsk_|xai-|pplx-|r8_|hf_|fw_|csk-)[A-Za-z0-9]{24,}`},
	{ID: "google-key", What: "Google API keys, OAuth secrets and access tokens", Near: []string{"aiza", "gocspx-", "ya29."},
		Pattern: `\b(?:AIza[\w-]{35}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,})`},
	{ID: "aws-key", What: "AWS access key ids (AKIA…, ASIA…)", Near: []string{"akia", "asia", "abia", "acca"},
		Pattern: `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}`},
	{ID: "azure-key", What: "Azure account and access keys", Near: []string{"accountkey=", "sharedaccesskey="},
		Pattern: `(?i)\b(?:AccountKey|SharedAccessKey)=([\w+/=-]{20,})`},
	{ID: "github-token", What: "GitHub tokens (ghp_…, github_pat_…)", Near: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"},
		Pattern: `\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,})`},
	{ID: "gitlab-token", What: "GitLab tokens (glpat-…)", Near: []string{"glpat-", "glptt-", "gldt-", "glrt-", "glcbt-"},
		Pattern: `\bgl(?:pat|ptt|dt|rt|cbt)-[\w-]{20,}`},
	{ID: "slack-token", What: "Slack tokens and webhooks", Near: []string{"xox", "xapp-", "hooks.slack.com"},
		Pattern: `\bxox[abceoprs](?:\.xox[bp])?-[\w-]{10,}|\bxapp-\d-[\w-]{20,}|hooks\.slack\.com/(?:services|workflows)/([\w/]{20,})`},
	{ID: "stripe-key", What: "Stripe keys and webhook secrets", Near: []string{"k_live_", "k_test_", "whsec_"},
		Pattern: `\b(?:[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[\w+/=]{20,})`},
	{ID: "package-token", What: "tokens of npm, PyPI and RubyGems", Near: []string{"npm_", "pypi-", "rubygems_"},
		Pattern: `\b(?:npm_[A-Za-z0-9]{30,}|pypi-[\w-]{32,}|rubygems_[0-9a-f]{32,})`},
	{ID: "service-token", What: "tokens of SendGrid, Telegram, DigitalOcean, Shopify, Linear, Notion, Vault, Terraform, Databricks, Tailscale, Doppler, Atlassian, " +
		"Docker, Figma, Grafana, Sentry, Pulumi, Postman, New Relic, Netlify, Supabase, PlanetScale, Buildkite, Square, Mailgun, Discord, Entra and 1Password",
		Near: []string{"sg.", ":aa", "_v1_", "shpat_", "shpca_", "shppa_", "shpss_", "lin_api_", "ntn_", "secret_", "hvs.", "hvb.", ".atlasv1.", "dapi", "tskey-", "dp.", "atatt3",
			"dckr_", "figd_", "glsa_", "glc_", "sntry", "pul-", "pmak-", "nrak-", "nfp_", "sbp_", "pscale_", "bkua_", "sq0", "eaaa", "key-", "discord", "q~", "ops_eyj"},
		Pattern: `\b(?:SG\.[\w-]{16,}\.[\w-]{16,}|\d{8,10}:AA[\w-]{32,}|do[opr]_v1_[0-9a-f]{40,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|` +
			`lin_api_[A-Za-z0-9]{32,}|ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b|hv[sb]\.[\w-]{20,}|[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}|dapi[0-9a-f]{32}|tskey-[a-z]+-[\w-]{16,}|` +
			`dp\.(?:pt|st|ct|sa)\.[\w.]{30,}|ATATT3[\w=-]{40,}|dckr_(?:pat|oat)_[\w-]{20,}|figd_[\w-]{30,}|glsa_\w{32,}|glc_[\w+/=]{32,}|sntry[su]_[\w+/=-]{30,}|pul-[0-9a-f]{40}|` +
			`PMAK-[0-9a-f]{24}-[0-9a-f]{34}|NRAK-[A-Z0-9]{27}|nfp_[A-Za-z0-9]{36,}|sbp_[0-9a-f]{40}|pscale_(?:tkn|pw|oauth)_[\w=.-]{30,}|bkua_[0-9a-f]{40}|sq0(?:atp|csp)-[\w-]{22,}|EAAA[\w-]{60,}|` +
			`key-[0-9a-f]{32,}|[\w~.]{3}\dQ~[\w~.-]{31,34}|ops_eyJ[\w+/=-]{60,})` +
			`|discord(?:app)?\.com/api/webhooks/\d+/([\w-]{30,})|(?i:discord)\S*\s*[:=]\s*["']?([MNO][\w-]{22,26}\.[\w-]{6}\.[\w-]{27,})`},

	{ID: "url-password", What: "the password in a URL or connection string (postgres://user:…@host)", Near: []string{"://"},
		Pattern: `\b[A-Za-z][\w+.-]*://[^\s:/@"'<>\[]*:([^\s/@"'<>]+(?:@[^\s/@"'<>]+)*)@[\w\[<{$]`, Values: true},
	{ID: "url-parameter", What: "tokens and signatures in the parameters of a URL, or in place of the user name",
		Near:    []string{"://", "token=", "key=", "sig=", "signature=", "secret=", "password=", "auth="},
		Pattern: `://([^\s:/@"'<>]{20,})@[\w\[]|\bSignature=([0-9a-fA-F]{40,})|(?i)[?&](?:[\w-]*token|[\w-]*key|sig|[\w-]*signature|[\w-]*secret|password|auth)=([^\s&"'<>#]{8,})`, Values: true},
	{ID: "authorization", What: "credentials after Authorization: and Bearer", Near: []string{"bearer", "authorization"},
		Pattern: `(?i)\bbearer\s+([\w.~+/=-]{12,})|\bauthorization["']?\s*[:=]\s*["']?(?:(?:basic|token|digest|negotiate|apikey)\s+)?([\w.~+/=-]{8,})`, Values: true},
	{ID: "cookie", What: "the values of Cookie: and Set-Cookie: headers", Near: []string{"cookie"},
		Pattern: `(?i)\b(?:set-)?cookie["']?:\s*["']?([\w.-]+=[^\s;"']{8,}(?:;\s*[\w.-]+=[^\s;"']+)*)`},
	{ID: "login", What: "passwords of curl -u, sshpass -p, mysql -p, docker login -p, redis-cli -a, htpasswd -b, http --auth, and .netrc",
		Near: []string{"curl", "sshpass", "login", "mysql", "mariadb", "redis-cli", "htpasswd", "http -a", "--auth"},
		Pattern: `\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^\n|;]*?\s-p["']?([^\s"']{3,})|\b(?:docker|podman|helm|registry)\s+login\b[^\n|;]*?\s-p[= ]["']?([^\s"']+)` +
			`|\bredis-cli\b[^\n|;]*?\s-a\s+["']?([^\s"']+)|\bhtpasswd\s+-\w*b\w*\s+(?:-\w+\s+)*\S+\s+\S+\s+["']?([^\s"']+)|\bhttps?\b[^\n|;]*?\s(?:-a|--auth)[= ]["']?[^\s:"']+:([^\s"']{3,})|` +
			`\bcurl\b[^\n|;]*?\s(?:-u|--user)[= ]?["']?[^\s:"']+:([^\s"']{3,})|\bsshpass\s+-p\s*["']?([^\s"']+)|\blogin[ \t]+\S+[ \t]+password[ \t]+(\S+)`, Values: true},
	{ID: "password-hash", What: "password hashes as in /etc/shadow and htpasswd ($2y$…, $6$…, $argon2id$…)",
		Near: []string{"$2", "$5$", "$6$", "$y$", "$argon2", "$apr1$"}, Pattern: `\$(?:2[abxy]|5|6|y|apr1|argon2(?:id|i|d))\$[\w./$,=+-]{20,}`},
	{ID: "password", What: "values of names and flags that end in password, passwd, pwd or passphrase; not sentences or paths",
		Near: []string{"passw", "pwd", "passphrase"},
		Pattern: `(?i)(?:password|passwd|pwd|passphrase)["']?\s*(?:=>|:=|[:=])\s*(?:"([^"\n]+)"|'([^'\n]+)')` +
			`|(?i)(?:password|passwd|pwd|passphrase)["']?=([^\s"',;&)\]}]{3,})` +
			`|(?im)(?:password|passwd|pwd|passphrase)["']?:[ \t]+([^\s"',;(){}\[\]]{3,})[ \t]*,?$` +
			`|(?im)^[ \t]*[\w.-]*(?:password|passwd|pwd|passphrase):[ \t]+([^\s"'][^\n]{3,}?)[ \t]*$` +
			`|(?i)\s--(?:password|passwd|passphrase)[ =]["']?([^\s"'-][^\s"']{2,})`, Values: true},
	{ID: "told-password", What: "passwords in a sentence (the password is …) that contain a digit or a symbol", Near: []string{"passw", "passphrase"},
		Pattern: "(?i)\\b(?:password|passwd|passphrase)(?:\\s+\\w+){0,3}\\s+(?:is|was|to)(?:\\s+now)?:?\\s+[\"'`]?([^\\s\"'`,;]{3,}[^\\s\"'`,;.!?)])", Values: true},
	{ID: "variable", What: "values of upper-case variables whose names end in SECRET, TOKEN, API_KEY, ACCESS_KEY, SECRET_KEY or PRIVATE_KEY",
		Near:    []string{"secret=", "token=", "key=", `secret="`, `token="`, `key="`},
		Pattern: `\b[A-Z][A-Z0-9_]*(?:SECRET|TOKEN|API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY)=["']?([^\s"'&;,)]{8,})`, Values: true},
	{ID: "secret", What: "long values with letters and digits, of names that end in secret, token, api key, access key or credential",
		Near: []string{"secret", "token", "key", "credential", "_auth", `"auth"`},
		Pattern: `(?i)(?:secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|account[_-]?key|credentials?|\b_auth|"auth)["']?\s*` +
			`(?:=>|:=|[:=]|\s(?:is|was)\s)\s*(?:"([^\s"]{12,})"|'([^\s']{12,})'|["']?([\w.~+/=-]{12,}))|(?i)\s--(?:[\w-]*token|[\w-]*secret|[\w-]*key)[ =]["']?([\w.~+/=-]{12,})`, Values: true},
}

// takes reports whether a match of the pattern is a secret.
func (r *Rule) takes(value string) bool {
	if !r.Values {
		return true
	}
	if isPlaceholder(value) {
		return false
	}
	switch r.ID {
	case "secret", "authorization", "url-parameter":
		return isRandom(value)
	case "password":
		return !isPath(value) && !isSentence(value)
	case "told-password":
		return hasSign(value)
	}
	return true
}

// isPath reports whether a value is a path, such as the value of PWD or the name
// of a password file.
func isPath(v string) bool {
	rest := strings.TrimLeft(v, "~.")
	return strings.HasPrefix(rest, "/") && len(v)-len(rest) <= 2 && !strings.ContainsAny(v, "!@#$%^&*") ||
		len(v) > 2 && v[1] == ':' && (v[2] == '\\' || v[2] == '/')
}

// sentenceWords are words that hardly any passphrase contains and hardly any
// sentence lacks.
var sentenceWords = map[string]bool{
	"a": true, "all": true, "an": true, "and": true, "are": true, "at": true, "be": true, "by": true, "can": true, "cannot": true, "does": true,
	"failed": true, "field": true, "for": true, "from": true, "has": true, "have": true, "in": true, "incorrect": true, "invalid": true, "is": true,
	"it": true, "match": true, "missing": true, "must": true, "no": true, "not": true, "of": true, "on": true, "or": true, "required": true,
	"should": true, "some": true, "string": true, "successfully": true, "than": true, "that": true, "the": true, "this": true, "to": true,
	"too": true, "was": true, "when": true, "will": true, "with": true, "you": true, "your": true,
}

// isSentence reports whether a value of several words is part of a sentence.
func isSentence(v string) bool {
	words := strings.Fields(v)
	return len(words) > 1 && slices.ContainsFunc(words, func(w string) bool {
		return sentenceWords[strings.ToLower(strings.Trim(w, ".,:;!?()"))]
	})
}

// hasSign reports whether a word has letters and also a digit or a symbol, which
// words of a sentence do not have.
func hasSign(v string) bool {
	v = strings.TrimRight(v, ".!?)")
	return strings.ContainsAny(v, "0123456789!@#$%^&*+=") && strings.ContainsFunc(v, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' })
}

// placeholders are words used in place of a secret.
var placeholders = map[string]bool{
	"any": true, "base64": true, "base64-encoded": true, "bool": true, "boolean": true, "changed": true, "false": true, "field": true, "hidden": true, "incorrect": true,
	"input": true, "invalid": true, "missing": true, "none": true, "null": true, "nil": true, "number": true, "object": true,
	"optional": true, "passwd": true, "password": true, "pass": true, "placeholder": true, "redacted": true, "required": true, "secret": true,
	"self": true, "sha256": true, "str": true, "string": true, "string[]": true, "text": true, "this": true, "token": true, "true": true, "undefined": true,
	"unknown": true, "value": true, "void": true, "your-password": true, "yourpassword": true, "your_password": true,
}

// isPlaceholder reports whether a value only represents a secret: a variable, a
// type, an expression, stars.
func isPlaceholder(v string) bool {
	lower := strings.ToLower(strings.TrimRight(v, ".,;:!?"))
	last := lower[strings.LastIndexByte(lower, '.')+1:] // args.password
	switch {
	case lower == "" || placeholders[lower] || placeholders[last],
		strings.HasPrefix(v, "$"), strings.HasPrefix(v, "%"), strings.HasPrefix(v, "<"), strings.HasPrefix(v, "{"),
		strings.HasPrefix(v, "["), strings.HasPrefix(v, "&"), strings.HasPrefix(v, "@"), strings.HasPrefix(v, "//"),
		strings.Contains(v, "${"), strings.Contains(v, "{{"), strings.Contains(v, "[redacted:"),
		strings.Contains(v, "("), strings.HasPrefix(lower, "process.env"), strings.HasPrefix(lower, "os.environ"),
		strings.HasPrefix(lower, "os.getenv"), strings.HasPrefix(lower, "env."), strings.HasPrefix(lower, "config."),
		strings.HasPrefix(lower, "your-"), strings.HasPrefix(lower, "your_"), strings.HasPrefix(lower, "my-"), strings.HasPrefix(lower, "example"):
		return true
	}
	return strings.Trim(lower, "*x.-_…•") == "" // ********, xxxx, ...
}

// isRandom reports whether a value looks generated: letters and digits mixed, and
// not a path, a version, or a name made of words.
func isRandom(v string) bool {
	letters, digits, upper, lower := 0, 0, 0, 0
	changes, last := 0, 0
	for _, c := range []byte(v) {
		class := 0
		switch {
		case 'a' <= c && c <= 'z':
			letters, lower, class = letters+1, lower+1, 1
		case 'A' <= c && c <= 'Z':
			letters, upper, class = letters+1, upper+1, 2
		case '0' <= c && c <= '9':
			digits, class = digits+1, 3
		}
		if class != last {
			changes, last = changes+1, class
		}
	}
	switch {
	case letters == 0 || digits == 0 && (upper == 0 || lower == 0):
		return false
	case digits == 0:
		return len(v) >= 20 && changes*3 >= len(v) // base64 without a digit is rare
	case isHex(v):
		return len(v) >= 16
	}
	return changes*6 >= len(v)
}

func isHex(v string) bool { return strings.Trim(v, "0123456789abcdefABCDEF") == "" }
