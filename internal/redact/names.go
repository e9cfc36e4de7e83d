package redact

import (
	"slices"
	"strings"
	"sync"
)

// What a name says about its value.
type class int

const (
	noSecret class = iota
	service        // the name of a service: a secret if it looks generated
	key            // a key of some kind: a secret if it looks generated and is no hash or id
	token          // a token or key: a secret if it looks generated
	pass           // as password, if it has a digit or a symbol: it may be a verdict or a count
	password       // a secret if it is no placeholder, sentence or path
	phrase         // a secret if it is a list of words
)

// nameWords announce a name that may have a secret as its value.
func nameWords() []string {
	return slices.Concat(strings.Fields(`pass pwd pw psw secret token key auth cred kennwort contrase senha mdp hasło haslo heslo wachtwoord lösenord пароль 密码 密碼 パスワード 비밀번호
		psk mnemonic seed phrase jsessionid phpsessid connect.sid salt cookie pat jwt webhook dsn`), strings.Fields(services.text), servicePhrases)
}

// classWords are the last words of names by the class of the name.
var classWords = [...]string{
	password: `password passwd pwd passphrase passwort kennwort passcode pw pswd psw passw passwords bindpw rootpw contraseña contrasena senha mdp haslo hasło heslo wachtwoord passord lösenord пароль
		密码 密碼 パスワード 비밀번호 masterauth requirepass storepass keypass userpass authpass dbpass dbpw dbpwd psk`,
	pass: "pass passe",
	token: `jsessionid phpsessid secret token apikey authkey accesskey secretkey privatekey masterkey credential credentials creds cred apitoken authtoken accesstoken clientsecret secrets tokens jwt pat auth
		sessionkey appkey seckey sharedkey signingkey licensekey accountkey subscriptionkey sharedaccesskey presharedkey encryptionkey hmackey`,
	key:    "salt key keys sessid",
	phrase: "mnemonic phrase seed",
}

// What the last word of a name may end in.
var (
	passwordEndings = []string{"password", "passwd", "passphrase", "passwort", "requirepass", "passcode", "dbpass", "rootpass", "smtppass", "userpass", "mailpass", "ftppass", "proxypass", "mypass", "adminpass", "pwd", "密码", "密碼", "パスワード", "비밀번호"}
	tokenEndings    = []string{"secret", "token", "apikey", "authkey", "accesskey", "secretkey", "privatekey", "masterkey", "appkey"}
)

// lastWords maps the last word of a name to the class of the name.
var lastWords = sync.OnceValue(func() map[string]class {
	m := make(map[string]class)
	for c, words := range classWords {
		for w := range strings.FieldsSeq(words) {
			m[w] = class(c)
		}
	}
	return m
})

// keyWords are what a key is named by if it is a secret.
var keyWords = wordSet{text: `api app application auth authorization access secret private admin master account encryption encrypt enc signing sign license licence service root write read
	subscription storage shared deploy client consumer host server hmac aes jwt session cipher crypt crypto webhook integration management personal provider rpc relay backend bot user user's team org
	project workspace openai anthropic gemini google groq mistral cohere search azure aws gcp stripe algolia datadog dd gh github gitlab newrelic sentry mailgun sendgrid
	firebase fcm supabase role anon functions function ingest ingestion insert query license preshared pre sas ssh base64 live test sandbox prod production dev staging auto unseal recovery
	storage connection primary secondary transfer upload vapid wireguard tunnel join cluster bootstrap instrumentation rest sdk event events feed device dsa ecdsa rsa ed25519 eth wallet signer validator mint`}

// suffixes may follow the last word of a name.
var suffixes = wordSet{text: `base base64 b64 value val v hex text plain plaintext cleartext raw prod production dev development staging stage stg test testing live local old new prev previous current next
	default primary secondary backup encoded string str env main master root admin user db read write ro rw encrypted enc override param again confirm confirmation confirmed repeat hash`}

// notBefore are words that make a key or token something public.
var notBefore = wordSet{text: `public pub publishable primary foreign partition sort cache object row column index map dict hot unique composite natural lookup sorting routing dedup
	idempotency i18n translation message s3 registry tree query react focus next prev continuation cursor page shortcut key-value metric tag label widget node group bucket color config
	start end eos bos pad unk sep mask eot eof stop bad special first last max total input output prompt completion num count per design blob`}

// services are names of services whose keys have no form of their own.
var services = wordSet{text: `adafruit adobe airtable algolia alibaba aliyun asana atlassian beamer bitbucket bittrex meraki cloudflare codecov cohere coinbase confluent contentful datadog discord droneci dropbox
	elevenlabs etsy facebook fastly finicity finnhub flickr freshbooks gitter heroku hubspot intercom jfrog artifactory bintray xray kraken kucoin launchdarkly linkedin looker mailchimp mailgun mapbox mattermost
	messagebird mistral netlify newrelic nytimes okta openai plaid privateai rapidapi rollbar segment sendbird sendgrid sentry shodan snyk sonar squarespace
	sumologic sumo telegram travis trello twilio twitch twitter typeform yandex zendesk wakatime pagerduty opsgenie pushover deepseek deepgram assemblyai stability tencent vultr linode hetzner ngrok`}

// servicePhrases are names of services that are several words of a name.
var servicePhrases = []string{"message_bird", "message-bird", "linked_in", "linked-in", "new_relic", "new-relic", "private_ai", "private-ai", "contribsys"}

// serviceEndings may follow the name of a service in the same word.
var serviceEndings = []string{"key", "token", "secret", "api"}

// serviceNot are last words after the name of a service that are no secret.
var serviceNot = wordSet{text: `id url uri host hostname name version project org organization region user username email endpoint domain bucket path file dir channel team site account env environment
	commit sha hash digest ref branch tag revision image release build dsn type kind class title description page issue link action workflow integrity checksum resolved package module plugin webhook`}

// wordSet is a set of words that is built when it is first asked, since most runs of the
// program mask nothing.
type wordSet struct {
	text string
	once sync.Once
	set  map[string]bool
}

func (w *wordSet) has(word string) bool {
	w.once.Do(func() {
		w.set = make(map[string]bool)
		for _, x := range strings.Fields(w.text) {
			w.set[x] = true
		}
	})
	return w.set[word]
}

var nameSeparators = setOf("_-. :/$[]'")

// maxSegments is how many words at the end of a name are looked at.
const maxSegments = 6

// segments splits the end of a name into words in lower case, the last one first.
func segments(name string, words *[maxSegments + 1]string) (n int) {
	end := len(name)
	for i := len(name) - 1; i >= -1 && n < maxSegments; i-- {
		cut := i < 0 || nameSeparators[name[i]]
		camel := i > 0 && end > i && isUpper(name[i]) && (isLower(name[i-1]) || isDigit(name[i-1]) || isUpper(name[i-1]) && i+1 < end && isLower(name[i+1]))
		if !cut && !camel {
			continue
		}
		from := i
		if cut {
			from = i + 1
		}
		if from < end {
			words[n] = strings.ToLower(name[from:end])
			n++
		}
		end = i
	}
	return n
}

// classify returns the class of a name, which decides how its value is judged.
func classify(name string) class {
	var words [maxSegments + 1]string
	n := segments(name, &words)
	i := 0
	for i < n-1 && (suffixes.has(words[i]) || isNumber(words[i])) && lastWords()[words[i]] == noSecret {
		i++
	}
	last, before := strings.TrimRight(words[i], digits), words[i+1]
	c := lastWords()[last]
	switch {
	case c == noSecret && i == 0 && (last == "secretid" || last == "id" && (before == "secret" || before == "key" && (words[2] == "access" || words[2] == "private"))),
		last == "sid" && before == "connect":
		return token
	case c == noSecret:
		c = ending(last)
	}
	if i > 0 && c != password && c != token && last != "key" {
		c = noSecret // primary, test, default alone
	}
	switch {
	case c == pass && before != "":
		return password
	case last == "auth" && before != "" && before != "docker" && before != "redis" && before != "rediscli":
		return noSecret // decided by what is around it
	case c == key && last == "key" && (keyWords.has(before) || isService(before)):
		return token
	case (c == token || c == key) && notBefore.has(before):
		return noSecret
	case c == key && last == "key" && before != "" && isVariable(name):
		return token
	}
	if c == noSecret && !serviceNot.has(words[0]) && ofService(name) {
		return service
	}
	return c
}

// ofService reports whether a name has that of a service in it.
func ofService(name string) bool {
	var words [maxSegments + 1]string
	n := segments(name, &words)
	name = strings.ToLower(name)
	return slices.ContainsFunc(words[:n], isService) || slices.ContainsFunc(servicePhrases, func(s string) bool { return strings.Contains(name, s) })
}

func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "v")
	return s != "" && strings.Trim(s, digits) == ""
}

func isService(word string) bool {
	return services.has(word) || slices.ContainsFunc(serviceEndings, func(end string) bool {
		w, ok := strings.CutSuffix(word, end)
		return ok && services.has(w)
	})
}

// ending returns the class of a name by the ending of its last word.
func ending(word string) class {
	isEnding := func(end string) bool { return strings.HasSuffix(word, end) }
	switch {
	case slices.ContainsFunc(passwordEndings, isEnding):
		return password
	case slices.ContainsFunc(tokenEndings, isEnding):
		return token
	}
	return noSecret
}
