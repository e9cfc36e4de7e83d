package shellcmd

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Rule describes calls that a reviewer should look at first. A call matches a
// rule if a program in its shell command matches, or a file that it names, or what it asks
// of its agent.
type Rule struct {
	ID       string
	Severity Severity
	What     string // completes "finds a call that ...", for people
	Why      string // why it is worth a look
	Program  []Match
	Files    []FileMatch
	Escapes  bool // it matches calls that ask to run outside of the agent's sandbox
}

// Severity is how bad a call can be that matches a rule.
type Severity int

// The severities, the worst first.
const (
	Severe   Severity = iota // what runs is unknown, or a disk is lost
	High                     // work or secrets are lost
	Moderate                 // something outside the session changes
)

func (s Severity) String() string { return [...]string{"severe", "high", "moderate"}[s] }

// Match is a pattern for one program in a shell command. Every field that is set
// must match.
type Match struct {
	Names   []string   // the program, without its directory; "mkfs*" matches the prefix
	Sub     []string   // its first argument that is not a flag
	Flags   []string   // at least one of these; "-r" also matches "-rf", "--force" also "--force=x"
	Without []string   // none of these
	Args    lazyRegexp // matches some argument
	None    bool       // it has no argument
	By      []string   // it is run by one of these programs
	Code    lazyRegexp // matches the code passed to it as text
	Saved   bool       // it is, or runs, a file that the same command fetched
	After   []string   // what it runs is the output of one of these: an earlier program in the pipeline,
	// if it reads its code from stdin, or a program in a substitution
}

// FileMatch is a pattern for a file that a call reads or writes.
type FileMatch struct {
	Write   bool       // matches files that are written, otherwise files that are read
	Outside bool       // matches any file outside the session's working directory and the temporary directories
	Path    lazyRegexp // otherwise: matches the path, with slashes
	Except  lazyRegexp // paths that do not count
}

// lazyRegexp compiles on first use. Most runs of the program evaluate no rules,
// and compiling all of them takes as long as a search for a rare word.
type lazyRegexp func() *regexp.Regexp

func compiled(expr string) lazyRegexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	network = []string{"curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "nc", "ncat", "netcat", "socat", "ssh", socket,
		"iwr", "irm", "invoke-webrequest", "invoke-restmethod", "Invoke-WebRequest", "Invoke-RestMethod"}
	decoders     = []string{"base64", "base32", "xxd", "uudecode", "openssl"}
	interpreters = []string{"bash", "sh", "zsh", "dash", "ksh", "ash", "fish", "python", "node", "deno", "bun", "perl", "ruby", "php", "pwsh"}
)

// Rules lists all rules. The index has the rules that each call matches, so a new or
// changed rule needs a new index.SchemaVersion.
var Rules = []Rule{
	{
		ID:       "recursive-delete",
		Severity: High,
		What:     "deletes a directory tree, or every file in a list",
		Why:      "a wrong path or an empty variable destroys files for good",
		Program: []Match{
			{Names: []string{"rm", "grm"}, Flags: []string{"-r", "-R", "--recursive"}},
			{Names: []string{"find", "gfind"}, Flags: []string{"-delete"}},
			{Names: []string{"fd", "fdfind"}, Flags: []string{"-x", "-X", "--exec", "--exec-batch"}, Args: compiled(`^rm$`)},
			{Names: []string{"rm", "grm"}, By: []string{"xargs", "find", "parallel"}},
			{Names: []string{"rimraf"}},
			{Names: []string{"npx", "bunx"}, Args: compiled(`^rimraf(@.*)?$`)},
			{Names: []string{"pnpm", "yarn"}, Sub: []string{"dlx", "exec"}, Args: compiled(`^rimraf(@.*)?$`)},
			{Names: interpreters, Code: compiled(`\b(?:rmtree|remove_tree|rm_rf|rm_r|removeSync|rimraf(?:Sync)?)(?:\(|\s+["'\w])|\b(?:rm|rmdir)(?:Sync)?\([^;\n]*recursive["']?\s*:\s*true`)},
			{Names: []string{"aws"}, Sub: []string{"s3"}, Args: compiled(`^(rm|rb)$`), Flags: []string{"--recursive", "--force"}},
			{Names: []string{"gsutil"}, Args: compiled(`^rm$`), Flags: []string{"-r", "-R"}},
			{Names: []string{"rclone"}, Sub: []string{"purge", "delete"}},
			{Names: []string{"rsync"}, Flags: []string{"--delete", "--delete-after", "--delete-before", "--delete-during", "--delete-excluded", "--del"}},
			{Names: []string{"git"}, Sub: []string{"clean"}, Flags: []string{"-d", "-x", "-X"}, Without: []string{"-n", "--dry-run"}},
			{Names: []string{"remove-item", "ri", "del", "erase", "rmdir", "rd"}, Flags: []string{"-Recurse", "-r", "/s"}},
			{Names: []string{"srm"}, Flags: []string{"-r", "-R"}},
		},
	},
	{
		ID:       "forced-push",
		Severity: High,
		What:     "overwrites the history of a remote repository",
		Why:      "the remote may lose commits made by others",
		Program: []Match{
			{Names: []string{"hg"}, Sub: []string{"push"}, Flags: []string{"-f", "--force"}},
			{Names: []string{"gh"}, Sub: []string{"repo"}, Args: compiled(`^sync$`), Flags: []string{"--force"}},
			{Names: []string{"git", "hub"}, Sub: []string{"push"}, Flags: []string{"-f", "--force", "--force-with-lease", "--force-if-includes", "--mirror"}, Without: []string{"--dry-run", "-n"}},
			{Names: []string{"git", "hub"}, Sub: []string{"push"}, Args: compiled(`^\+[^ ]`), Without: []string{"--dry-run", "-n"}},
		},
	},
	{
		ID:       "network-to-shell",
		Severity: Severe,
		What:     "downloads code and runs it unseen",
		Why:      "nobody read the code, and it may be different next time",
		Program: []Match{
			{Names: interpreters, After: network},
			{Names: []string{"eval", "source", ".", "iex", "invoke-expression", "$()"}, After: network},
			{Names: []string{"*"}, Saved: true},
			{Names: []string{"deno"}, Sub: []string{"run"}, Args: compiled(`^https?://`)},
			{Names: []string{"nc", "ncat", "netcat"}, Flags: []string{"-e", "-c", "--exec", "--sh-exec"}},
			{Names: interpreters, Code: compiled(`\b(?:exec|eval|Function)[( ][^\n]*(?:urlopen|requests\.get|fetch\(|http)`)},
		},
	},
	{
		ID:       "decoded-code",
		Severity: Severe,
		What:     "decodes code and runs it",
		Why:      "the call does not show what ran",
		Program: []Match{
			{Names: interpreters, After: decoders},
			{Names: []string{"eval", "source", ".", "$()"}, After: decoders},
			{Names: interpreters, Code: compiled(`\b(?:exec|eval|Function)[( ][^\n]*(?:b64decode|base64|atob|fromhex|unhexlify|decompress)`)},
			{Names: []string{"powershell", "pwsh"}, Flags: []string{"-EncodedCommand", "-enc", "-ec"}},
		},
	},
	{
		ID:       "superuser",
		Severity: High,
		What:     "runs as another user, usually root",
		Why:      "root can change anything on the machine",
		Program: []Match{
			{Names: []string{"sudo", "doas"}, Without: []string{"-V", "--version", "-l", "--list", "-k", "-K", "-v", "--validate", "--help"}},
			{Names: []string{"su", "sudoedit", "pkexec", "run0", "runuser", "gosu", "gsudo", "runas", "visudo"}, Without: []string{"--version", "--help"}},
			{Names: []string{"ssh"}, Args: compiled(`^root@`)},
			{Names: []string{"docker", "podman"}, Sub: []string{"run", "exec"}, Flags: []string{"--privileged"}},
			{Names: []string{"start-process", "powershell", "pwsh"}, Args: compiled(`(?i)-verb\s+runas`)},
			{Names: []string{"start-process"}, Args: compiled(`(?i)^runas$`)},
			{Names: []string{"osascript"}, Args: compiled(`with administrator privileges`)},
		},
	},
	{
		ID:       "world-writable",
		Severity: Moderate,
		What:     "makes a file writable by every user",
		Why:      "any program of any user can change the file",
		Program: []Match{
			{Names: []string{"chmod", "gchmod"}, Args: compiled(`^0*[0246]?[0-7][0-7][2367]$|^([ugoa]*[+=-][rwxXst]*,)*[ug]*[oa][ugoa]*[+=][rxXst]*w[rwxXst]*(,.*)?$`)},
			{Names: []string{"mkdir", "install"}, Flags: []string{"-m", "--mode"}, Args: compiled(`^(-m=?|--mode=)?[0246]?[0-7][0-7][2367]$|^(-m=?|--mode=)?(a|o|ugo)[+=]\w*w`)},
			{Names: interpreters, Code: compiled(`\bchmod(?:Sync)?\([^)\n]*\b0o?[0-7]?[0-7][0-7][2367]\b`)},
			{Names: []string{"icacls", "cacls"}, Args: compiled(`(?i)^(?:everyone|\*S-1-1-0):(?:\(\w+\))*\(?[FMW]`)},
			{Names: []string{"setfacl"}, Args: compiled(`(?:^|,)o(?:ther)?::?[r-]?w`)},
			{Names: []string{"umask"}, Args: compiled(`^0?[0-7]?[0-7][0145]$|^0+$`)},
		},
	},
	{
		ID:       "disk-tool",
		Severity: Severe,
		What:     "formats, partitions or overwrites a disk",
		Why:      "a wrong device name destroys a whole disk",
		Program: []Match{
			{Names: []string{"mkfs*", "mkswap", "newfs*", "wipefs", "shred", "blkdiscard", "sgdisk", "cfdisk", "gdisk", "pvremove", "vgremove", "lvremove", "pvcreate", "mke2fs", "zpool", "badblocks"},
				Without: []string{"-V", "--version", "--help", "list", "status", "-p", "--print"}},
			{Names: []string{"fdisk", "sfdisk", "parted"}, Without: []string{"-l", "--list", "print", "-V", "-v", "--version", "-d", "--dump", "--help"}},
			{Names: []string{"dd"}, Args: compiled(`^of=/dev/(?:r?disk|sd|hd|vd|xvd|nvme|mmcblk|mapper/|loop|md|dm-)`)},
			{Names: []string{"diskutil"}, Sub: []string{"apfs", "eraseDisk", "eraseVolume", "reformat", "partitionDisk", "secureErase", "zeroDisk", "randomDisk", "erasedisk", "partitiondisk"}, Without: []string{"list"}},
			{Names: []string{"hdparm"}, Flags: []string{"--security-erase", "--security-erase-enhanced"}},
			{Names: []string{"nvme"}, Sub: []string{"format", "sanitize"}},
			{Names: []string{"zfs"}, Sub: []string{"destroy"}},
			{Names: []string{"diskpart", "format-volume", "clear-disk", "initialize-disk"}},
			{Names: []string{"format"}, Args: compiled(`^[A-Za-z]:$`)},
			{Names: []string{"cryptsetup"}, Sub: []string{"luksFormat", "erase", "luksErase", "reencrypt"}},
			{Names: []string{"mdadm"}, Flags: []string{"--create", "-C", "--zero-superblock"}},
		},
		Files: []FileMatch{{Write: true, Path: compiled(`^/dev/(?:r?disk|sd|hd|vd|xvd|nvme|mmcblk|mapper/|loop|md|dm-)`)}},
	},
	{
		ID:       "outside-write",
		Severity: Moderate,
		What:     "writes, moves or deletes a file outside the session's working directory",
		Why:      "a session seldom has work outside its directory; temporary directories do not count",
		Program: []Match{
			{Names: []string{"crontab"}, Without: []string{"-l", "-V"}},
		},
		Files: []FileMatch{{Write: true, Outside: true}},
	},
	{
		ID:       "credentials",
		Severity: High,
		What:     "reads a likely source of keys, passwords or tokens: a file, the environment, a secret store",
		Why:      "whatever a session reads is stored in its file and sent to the model",
		Program: []Match{
			{Names: []string{"env"}},
			{Names: []string{"printenv"}, None: true},
			{Names: []string{"printenv"}, Args: compiled(`(?i)key|token|secret|passw|credential`)},
			{Names: []string{"security"}, Sub: []string{"find-generic-password", "find-internet-password", "dump-keychain"}, Flags: []string{"-w", "-g", "-d"}},
			{Names: []string{"gh"}, Sub: []string{"auth"}, Args: compiled(`^token$`)},
			{Names: []string{"gcloud"}, Sub: []string{"auth"}, Args: compiled(`^print-`)},
			{Names: []string{"aws"}, Sub: []string{"configure"}, Args: compiled(`secret|session_token`)},
			{Names: []string{"aws"}, Sub: []string{"secretsmanager"}, Args: compiled(`^get-secret-value$`)},
			{Names: []string{"pass"}, Sub: []string{"show"}},
			{Names: []string{"op"}, Sub: []string{"read"}},
			{Names: []string{"vault"}, Args: compiled(`^(get|read)$`)},
			{Names: []string{"kubectl"}, Sub: []string{"get"}, Args: compiled(`^secrets?(/|$)`), Flags: []string{"-o", "--output"}},
			{Names: []string{"gpg", "gpg2"}, Flags: []string{"--export-secret-keys", "--export-secret-subkeys"}},
			{Names: []string{"secret-tool"}, Sub: []string{"lookup", "search"}},
		},
		Files: []FileMatch{{
			Path: compiled(`(?i)(?:^|/)(?:` + strings.Join([]string{
				`id_(?:rsa|dsa|ecdsa|ed25519|\*)(?:_sk)?`, `\.ssh/(?:[^/]*(?:key|\.pem|id_)[^/]*|\*)`, `\.aws/(?:credentials|\*)`, `proc/(?:self|\d+)/environ`, `\.netrc`, `_netrc`, `\.pgpass`, `\.my\.cnf`,
				`\.git-credentials`, `\.docker/config\.json`, `\.kube/config`, `\.gnupg/.+`, `\.pypirc`, `\.vault-token`, `\.htpasswd`,
				`(?:\.pi/agent|\.codex|\.local/share/opencode|\.config/[^/]+)/auth\.json`, `\.config/gh/hosts\.yml`, `\.config/gcloud/.*credentials.*`, `\.claude/\.credentials\.json`,
				`(?:home/[^/]+|users/[^/]+|root|~|\$home)/\.npmrc`, `etc/shadow`, `etc/gshadow`, `etc/sudoers`, `etc/ssh/ssh_host_[^/]*_key`,
				`[^/]+\.(?:pem|p12|pfx|kdbx|keystore|jks|ppk)`, `[^/]*(?:private|server|client|tls|ssl|signing)[^/]*\.key`, `\.env(?:[.*?][^/]*)?`, `master\.key`, `etc/kubernetes/admin\.conf`, `\.azure/[^/]*token[^/]*`, `keychains/[^/]+`, `logins\.json`, `key4\.db`, `login data`, `[^/]+\.env`, `\.envrc`,
				`credentials(?:\.json|\.ya?ml|\.toml|\.db)?`, `(?:client_)?secrets?\.(?:json|ya?ml|toml|env)`, `service[-_]?account[^/]*\.json`,
			}, "|") + `)$`),
			Except: compiled(`(?i)\.pub$|\.env\.(?:example|sample|template|dist|defaults?|schema|test)$|(?:^|/)(?:example|sample|template)\.env$|known_hosts|authorized_keys$|\.ssh/config$|(?:^|/)(?:node_modules|testdata|fixtures|examples?)/`),
		}},
	},
	{
		ID:       "sandbox-escape",
		Severity: Moderate,
		What:     "asks its agent to run it outside of the sandbox",
		Why:      "what it may do is then limited by nothing but the user's rights",
		Escapes:  true,
	},
}

// matches reports whether a program with one of the names also matches the rest
// of the pattern.
func (m *Match) matches(c *command) bool {
	if len(m.Sub) > 0 && !slices.Contains(m.Sub, c.subcommand()) {
		return false
	}
	if m.Saved && !c.saved || m.None && len(c.args) > 0 || len(m.By) > 0 && !slices.Contains(m.By, c.by) {
		return false
	}
	if m.Code != nil && (c.text == "" || !m.Code().MatchString(c.text)) {
		return false
	}
	if len(m.Flags) > 0 && !slices.ContainsFunc(m.Flags, c.has) || slices.ContainsFunc(m.Without, c.has) {
		return false
	}
	if m.Args != nil && !slices.ContainsFunc(c.args, m.Args().MatchString) {
		return false
	}
	return len(m.After) == 0 || c.runsOutputOf(m.After)
}

// has reports whether the flag, or a bare word, is among the arguments. Nothing
// after "--" is a flag.
func (c *command) has(flag string) bool {
	long := strings.HasPrefix(flag, "--")
	short := len(flag) == 2 && flag[0] == '-'
	for _, arg := range c.args {
		switch {
		case arg == flag || len(flag) > 2 && strings.EqualFold(arg, flag) || long && strings.HasPrefix(arg, flag+"="):
			return true
		case arg == "--":
			return false
		case short && len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && c.program != "find":
			// Combined letters; from "=" or a digit on it is a value.
			letters := arg[1:]
			if end := strings.IndexFunc(letters, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }); end >= 0 {
				letters = letters[:end]
			}
			if strings.IndexByte(letters, flag[1]) >= 0 && len(letters) <= 6 {
				return true
			}
		}
	}
	return false
}

// hasLast reports whether the last of the combined flags in an argument is this letter.
func hasLast(arg, letter string) bool {
	return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, letter)
}

func (c *command) runsOutputOf(programs []string) bool {
	among := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return slices.Contains(programs, p) })
	}
	isShell := slices.Contains(shells, c.program)
	if among(c.inner) {
		switch {
		case c.program == "eval" || c.program == "$()":
			return true
		case c.program == "source" || c.program == ".":
			return len(c.args) > 0 && strings.HasPrefix(c.args[0], "<()")
		}
		for i, arg := range c.args {
			if strings.HasPrefix(arg, "<()") && firstArgument(c.args) == arg {
				return true
			}
			code := arg == "-c" || arg == "-e" || isShell && hasLast(arg, "c")
			if code && i+1 < len(c.args) && strings.Contains(c.args[i+1], "$()") {
				return true
			}
		}
	}
	if !among(c.upstream) || c.program == "eval" || c.program == "$()" {
		return false
	}
	if c.program == "source" || c.program == "." {
		return len(c.args) > 0 && c.args[0] == "/dev/stdin"
	}
	for i, arg := range c.args {
		switch {
		case arg == "-" || arg == "/dev/stdin":
			return true
		case isShell && hasLast(arg, "s"):
			return true
		case arg == "-c" || arg == "-m" || arg == "-e" || arg == "-p" || arg == "-n" || arg == "-ne" || arg == "-pe" || arg == "--eval":
			return false
		case arg == "--":
			return i+1 == len(c.args)
		case !strings.HasPrefix(arg, "-"):
			return false
		}
	}
	return true
}

// ruleMatch is a pattern with the rule it belongs to.
type ruleMatch struct {
	rule int
	*Match
}

// byName indexes the patterns by program name. Names that end with a star are in
// prefixes, without the star.
var byName = sync.OnceValues(func() (names, prefixes map[string][]ruleMatch) {
	names, prefixes = make(map[string][]ruleMatch), make(map[string][]ruleMatch)
	for r := range Rules {
		for i := range Rules[r].Program {
			m := ruleMatch{r, &Rules[r].Program[i]}
			for _, name := range m.Names {
				if prefix, ok := strings.CutSuffix(name, "*"); ok {
					prefixes[prefix] = append(prefixes[prefix], m)
				} else {
					names[name] = append(names[name], m)
				}
			}
		}
	}
	return names, prefixes
})

func (f *found) matchPrograms(commands []command) {
	names, prefixes := byName()
	for i := range commands {
		c := &commands[i]
		try := func(list []ruleMatch) {
			for _, m := range list {
				if m.matches(c) {
					f.add(1<<m.rule, m.clause(c))
				}
			}
		}
		name := strings.ToLower(interpreterOf(c.program)) // PowerShell ignores case
		try(names[name])
		for prefix, list := range prefixes {
			if strings.HasPrefix(name, prefix) {
				try(list)
			}
		}
	}
}

// clause is what a command that matches looks like: its statement, its pipeline if other
// programs of that matter, or the line of its code.
func (m *Match) clause(c *command) string {
	switch {
	case m.Code != nil:
		at := m.Code().FindStringIndex(c.text)
		from := strings.LastIndexByte(c.text[:at[0]], '\n') + 1
		line, _, _ := strings.Cut(c.text[from:], "\n")
		return c.program + ": " + strings.TrimSpace(line)
	case len(m.After) > 0 || len(m.By) > 0:
		return c.clause.pipeline
	}
	return c.clause.statement
}

// fileMatcher matches files against the rules. It remembers results: most files
// occur many times.
type fileMatcher struct {
	known map[namedFile]RuleSet
}

type namedFile struct {
	path  string
	write bool
}

// match returns the rules that a file matches when a program that runs in dir
// reads or writes it, in a session with the working directory cwd.
func (f *fileMatcher) match(file, dir, cwd string, write bool) RuleSet {
	set := f.named(file, write)
	if write && isOutside(file, dir, cwd) {
		set |= outsideRules
	}
	return set
}

// outsideRules is the set of rules that match any file written outside, escapeRules that of
// those that match any call which asks to leave the sandbox.
var outsideRules, escapeRules = func() (outside, escape RuleSet) {
	for r := range Rules {
		for _, m := range Rules[r].Files {
			if m.Outside {
				outside |= 1 << r
			}
		}
		if Rules[r].Escapes {
			escape |= 1 << r
		}
	}
	return outside, escape
}()

// named returns the rules that match the path alone.
func (f *fileMatcher) named(file string, write bool) RuleSet {
	key := namedFile{file, write}
	if set, ok := f.known[key]; ok {
		return set
	}
	if f.known == nil || len(f.known) >= mostNames {
		f.known = make(map[namedFile]RuleSet)
	}
	set, name := RuleSet(0), slashed(file)
	for r := range Rules {
		for _, m := range Rules[r].Files {
			if m.Write == write && !m.Outside && m.Path().MatchString(name) && (m.Except == nil || !m.Except().MatchString(name)) {
				set |= 1 << r
			}
		}
	}
	key.path = strings.Clone(file)
	f.known[key] = set
	return set
}
