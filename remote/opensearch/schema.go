package opensearch

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"pigrep/index/analysis"
	"pigrep/index/record"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/remote"
)

// The templates of the indices. PREFIX stands for Config.Prefix,
// SHARDS for their number.
var (
	//go:embed template.json
	partsTemplate string
	//go:embed sessions.json
	sessionsTemplate string
)

// version is that of both templates, and in the names of indices: documents of two versions
// are never in the same index.
const version = 2

func (a *Archive) template(text string, shards int) json.RawMessage {
	return json.RawMessage(strings.NewReplacer("PREFIX", a.config.Prefix, `"SHARDS"`, strconv.Itoa(max(shards, 1))).Replace(text))
}

// alias names all parts for reading.
func (a *Archive) alias() string { return a.config.Prefix }

// everything names all parts, and the names of sessions.
func (a *Archive) everything() string { return a.alias() + "," + a.allSessions() }

// allSessions names the indices of sessions of all owners.
func (a *Archive) allSessions() string { return a.sessionsIndex("") + "*" }

// sessionsIndex has a document for each session file of an owner, and one for each push.
func (a *Archive) sessionsIndex(owner string) string {
	name := fmt.Sprintf("%s-sessions-v%d", a.config.Prefix, version)
	if owner != "" {
		name += "-" + owner
	}
	return name
}

// sent names the parts that a push may send and delete: those of its owner.
func (a *Archive) sent() string {
	if owner := a.config.Owner; owner != "" {
		return a.monthly(owner + "-*")
	}
	return a.alias()
}

// An owner, who logs in, has indices of his own, and roles let nobody else write there. The month of a session
// begins with its owner; one of an archive that everybody shares has none. His machines are OWNER@HOST, which is a
// part of the identity of a file: nobody can take the place of what somebody else has pushed.

func ownerOf(month string) string {
	owner, _, _ := cutLast(month, "-")
	return owner
}

// cutLast cuts a text at the last separator; without one, all is after it.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// hostOf returns what a machine of an owner is called.
func hostOf(owner, host string) string {
	if owner != "" {
		return owner + "@" + host
	}
	return host
}

// monthly is the index of the parts of a session that began in a month. A session stays there,
// because the ids of its documents are unique in one index only.
func (a *Archive) monthly(month string) string {
	return fmt.Sprintf("%s-v%d-%s", a.config.Prefix, version, month)
}

func (a *Archive) templates() map[string]string {
	return map[string]string{a.config.Prefix: partsTemplate, a.config.Prefix + "-sessions": sessionsTemplate}
}

// OwnerForm is the form of the names of owners.
var OwnerForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_]{0,39}$`) })

const monthLayout = "2006.01"

// undated is the month of sessions without a time.
const undated = "0000.00"

func monthOf(t time.Time) string {
	if t.IsZero() || t.Unix() <= 0 {
		return undated
	}
	return t.UTC().Format(monthLayout)
}

// keyOf identifies a session file by its machine and its path there. It is the routing of all
// documents of the file, and what their ids begin with.
func keyOf(host, path string) string {
	sum := sha256.Sum256([]byte(host + "\x00" + path))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

func idOf(key string, offset int64, part int) string {
	return key + ":" + strconv.FormatInt(offset, 10) + ":" + strconv.Itoa(part)
}

// recordID is the id of the document with the record of a session file.
func recordID(key string) string { return key + ":record" }

// outlineID is the id of the document with the record without facts, which is a fifth as long: a search
// needs no more.
func outlineID(key string) string { return key + ":outline" }

func outlineOf(r *session.Record) *session.Record {
	outline := *r
	outline.Facts = nil
	return &outline
}

// A document is a part of an entry, a line that has none, or the record of a session file.
type document struct {
	FileKey string `json:"file_key"`
	Gen     int64  `json:"gen"`
	Offset  int64  `json:"offset"` // of the entry in the file that its lines make as they are kept, as At
	Part    int    `json:"part"`
	Host    string `json:"host"`
	User    string `json:"user,omitempty"`
	Agent   string `json:"agent"` // as of session.ShortAgent
	Session string `json:"session,omitempty"`
	CWD     string `json:"cwd,omitempty"` // with slashes

	Month string `json:"month,omitempty"` // of a state only

	Kind     session.Kind `json:"kind,omitempty"`
	Role     string       `json:"role,omitempty"`
	Tool     string       `json:"tool,omitempty"`
	Provider string       `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	Error    bool         `json:"error,omitempty"`
	Entry    string       `json:"entry,omitempty"`
	Time     int64        `json:"time,omitempty"`
	Terms    string       `json:"terms,omitempty"` // of the text, as our analyzer makes them

	Line int    `json:"line,omitempty"` // of the file, from 1
	At   *int64 `json:"at,omitempty"`   // where the line begins; of the first document of a line only, as Raw
	Raw  string `json:"raw,omitempty"`

	// Of a record only, from which pushing continues.
	Record  []byte `json:"record,omitempty"` // packed and compressed
	outline []byte // the same without facts, for a document of its own
	Through int64  `json:"through,omitempty"` // bytes of the session file on its machine that it is of
	Sum     string `json:"sum,omitempty"`     // of these bytes; "" if it cannot be continued
}

// The sorts of documents in sessionsIndex.
const (
	sortSession = "session"
	sortPush    = "push"
	sortDeleted = "deleted" // a tombstone: the state of a session file that was deleted, whose user has deleted it
)

// A state is the document of a session file: how much of the file is in the archive, and what
// its summary says.
type state struct {
	Sort    string `json:"sort"`
	FileKey string `json:"file_key"`
	Host    string `json:"host"`
	User    string `json:"user,omitempty"` // who pushed it
	Agent   string `json:"agent"`          // as of session.ShortAgent
	Session string `json:"session,omitempty"`
	Path    string `json:"path"` // on its host
	CWD     string `json:"cwd,omitempty"`
	Begun   int64  `json:"begun,omitempty"`
	Oldest  int64  `json:"oldest,omitempty"` // of its entries, like Newest
	Newest  int64  `json:"newest,omitempty"`
	Month   string `json:"month"`

	Gen     int64 `json:"gen"`    // raised when the file is rewritten
	Offset  int64 `json:"offset"` // bytes of the file that are in the archive
	Lines   int   `json:"lines"`  // in these bytes
	Size    int64 `json:"size"`   // of the file, like Mtime, when all of it was there; else 0
	Mtime   int64 `json:"mtime"`
	Stale   bool  `json:"stale,omitempty"`   // documents of earlier generations may be left
	Gone    bool  `json:"gone,omitempty"`    // the file is no longer on its machine
	Refused int   `json:"refused,omitempty"` // documents that the engine will not take

	Documents int    `json:"documents,omitempty"` // of the last record
	Tokens    uint64 `json:"tokens,omitempty"`    // in these
	Pushed    int64  `json:"pushed"`

	// The name, which may come from another file, is found as a title.
	Kind  session.Kind `json:"kind,omitempty"`
	Terms string       `json:"terms,omitempty"`
	Time  int64        `json:"time,omitempty"`

	Facts facts `json:"facts"`
}

// facts are the parts of a summary that are not fields of a state.
type facts struct {
	Manifest    manifest `json:",omitzero"`
	Agent       string   // adapter.Agent.Name
	Version     int
	Notes       bool   `json:",omitempty"`
	Parent      string `json:",omitempty"`
	Relation    session.Relation
	Name        string `json:",omitempty"`
	NameRank    uint8
	FirstPrompt string    `json:",omitempty"`
	Subject     string    `json:",omitempty"`
	LastMessage time.Time `json:",omitzero"`
	Messages    int
	Entries     int
	Models      []string             `json:",omitempty"`
	Tokens      int64                `json:",omitempty"`
	Cost        float64              `json:",omitempty"`
	Unpriced    []session.ModelUsage `json:",omitempty"`
	Labels      []string             `json:",omitempty"`
}

// describe sets what a summary says.
func (s *state) describe(from *session.Summary) {
	s.Sort, s.Agent, s.Session, s.CWD = sortSession, session.ShortAgent(from.Agent), from.ID, session.Slashed(from.CWD)
	s.Begun, s.Oldest, s.Newest = millis(from.Timestamp), millis(from.Oldest), millis(from.Newest)
	s.Facts = facts{
		Manifest: s.Facts.Manifest,
		Agent:    from.Agent, Version: from.Version, Notes: from.Notes, Parent: from.ParentSession, Relation: from.Relation,
		Name: from.Name, NameRank: from.NameRank, FirstPrompt: from.FirstPrompt, Subject: from.Subject, LastMessage: from.LastMessage,
		Messages: from.Messages, Entries: from.Entries, Models: from.Models, Tokens: from.UsedTokens, Cost: from.UsedCost, Unpriced: from.Unpriced, Labels: from.LabelNames,
	}
	if s.Facts.Name != "" {
		s.Kind, s.Time = session.KindTitle, s.Newest
		s.Terms, _ = termsOf(new(analysis.Analyzer), []byte(s.Facts.Name))
	}
}

// bytes returns about how much memory a state takes.
func (s *state) bytes() (n int64) {
	f := &s.Facts
	for _, text := range slices.Concat(f.Models, f.Labels, []string{s.Host, s.User, s.Agent, s.Session, s.Path, s.CWD, s.Terms, f.Agent, f.Parent, f.Name, f.FirstPrompt, f.Subject}) {
		n += int64(len(text)) + 16
	}
	return n + int64(reflect.TypeFor[state]().Size())
}

// isSound reports whether a state may be one of this package. Another client can write anything.
func (s *state) isSound() bool {
	host, _, ok := remote.Split(remote.Name(s.Host, s.Path))
	owner, month, owned := cutLast(s.Month, "-")
	_, err := time.Parse(monthLayout, month)
	of, _, at := strings.Cut(s.Host, "@")
	return ok && at == owned && (!owned || of == owner) && s.Sort == sortSession && host == s.Host && s.FileKey == keyOf(s.Host, s.Path) && (err == nil || month == undated) && (!owned || OwnerForm().MatchString(owner) && s.User == owner) &&
		s.Gen > 0 && s.Lines >= 0 && s.Offset >= int64(s.Lines)
}

// mostCost is the largest cost of a session that is believed, so that sums are numbers.
const mostCost = 1e9

// summary undoes describe.
func (s *state) summary() session.Summary {
	f := &s.Facts
	sum := session.Summary{
		Path: remote.Name(s.Host, s.Path), Name: f.Name, NameRank: f.NameRank, FirstPrompt: f.FirstPrompt, Subject: f.Subject, LastMessage: f.LastMessage,
		Oldest: timeOf(s.Oldest), Newest: timeOf(s.Newest), Messages: f.Messages, Entries: f.Entries, Models: f.Models,
		UsedTokens: f.Tokens, UsedCost: min(max(f.Cost, 0), mostCost), Unpriced: f.Unpriced, LabelNames: f.Labels,
	}
	sum.Header = session.Header{
		ID: s.Session, CWD: s.CWD, ParentSession: f.Parent, Version: f.Version, Timestamp: timeOf(s.Begun), Agent: f.Agent, Notes: f.Notes, Relation: f.Relation,
	}
	sum.Size, sum.Mtime = s.Offset, s.Mtime*int64(time.Millisecond)
	return sum
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// check fails unless the archive was set up by this version.
func (a *Archive) check(ctx context.Context) error {
	missing, err := a.missing(ctx)
	if err == nil && len(missing) > 0 {
		err = &ArchiveError{Archive: a.config.Name, Err: ErrNoTemplate}
	}
	return err
}

// missing returns the names of the templates that are not there. One of another version is an error:
// documents of two versions cannot be in the same indices.
func (a *Archive) missing(ctx context.Context) (names []string, err error) {
	var answer struct {
		Templates []struct {
			Name     string
			Template struct {
				Version int `json:"version"`
			} `json:"index_template"`
		} `json:"index_templates"`
	}
	err = a.call(ctx, http.MethodGet, "_index_template/"+a.config.Prefix+"*", nil, &answer)
	if err != nil && !isStatus(err, http.StatusNotFound) {
		return nil, err
	}
	templates := a.templates()
	for _, t := range answer.Templates {
		if _, ours := templates[t.Name]; ours && t.Template.Version != version {
			err := fmt.Errorf("%w: its template %s has version %d, this pigrep has %d", ErrOther, t.Name, max(t.Template.Version, 0), version)
			return nil, &ArchiveError{Archive: a.config.Name, Err: err}
		}
		delete(templates, t.Name)
	}
	return slices.Sorted(maps.Keys(templates)), nil
}

// With the record of a session file, which is kept beside its parts, a question needs only the
// lines with hits: the record says what is around them. Audits need no lines.

// mostRecord is how many bytes a record may take. A larger one, which may be forged, is not used.
const mostRecord = 16 << 20

var (
	packer   = sync.OnceValues(func() (*zstd.Encoder, error) { return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) })
	unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostRecord))
	})
)

// pack returns a record as a document has it.
func pack(r *session.Record) []byte {
	z, _ := packer() // its options are right
	return z.EncodeAll(record.Pack(r), nil)
}

// unpack returns the record in a document of a session file, if it is of the file's lines, and
// its size in bytes.
func unpack(d *document, s *state) (*session.Record, int, error) {
	z, _ := unpacker() // its options are right
	packed, err := z.DecodeAll(d.Record, nil)
	if err != nil {
		return nil, 0, err
	}
	rec, err := record.Unpack(packed)
	if err == nil && (d.Gen != s.Gen || rec.Path != remote.Name(s.Host, s.Path) || !isUsable(rec)) {
		err = errors.New("the record of the session is not one that this version can use")
	}
	return rec, len(packed), err
}

// records returns the documents with the records of session files, by file key. Some may have
// none.
func (a *Archive) records(ctx context.Context, list []*state) (map[string]*document, error) {
	found := make(map[string]*document, len(list))
	docs := lists.Map(list, func(s *state) object {
		return object{"_index": a.monthly(s.Month), "_id": recordID(s.FileKey), "routing": s.FileKey}
	})
	if len(docs) == 0 {
		return found, nil
	}
	var answer hits[document]
	if err := a.call(ctx, http.MethodPost, "_mget", object{"docs": docs}, &answer); err != nil {
		return nil, err
	}
	progress(ctx)
	for i := range answer.Docs {
		if d := &answer.Docs[i]; d.err == nil && d.Source.FileKey != "" {
			found[d.Source.FileKey] = &d.Source
		}
	}
	return found, nil
}
