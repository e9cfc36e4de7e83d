package opensearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	batchBytes = 3 << 20
	onTheirWay = 3 // batches that are sent, or what they claim, while the next one is being filled
	// patience is how long a push goes on without one confirmed document.
	patience = 2 * time.Minute
)

// batch is documents, and what may be claimed once they are confirmed.
type batch struct {
	items   [][]byte // each with its action
	size    int      // of the items in bytes
	claims  []claim
	claimed int   // bytes of the records in claims, about
	source  int64 // bytes of session files
}

// claim is the state of a file as of the documents before, and its record, unless that is nil.
type claim struct {
	state
	record *document
}

// A Refusal is a document that the engine will not take.
type Refusal struct {
	Document string `json:"document"` // its id
	Reason   string `json:"reason"`
}

// send sends some batches while the next one is being filled, and beside them what those claim whose
// documents are confirmed. Documents are confirmed one by one: what the engine has no room for is
// sent again, and what it will never take is counted and named. A state is sent only after all
// documents before it. It ends with the first error.
func (p *pushing) send(ctx context.Context) error {
	batches := func(ctx context.Context, put func(*batch) error) error {
		p.put = put
		if err := p.all(ctx); err != nil {
			return err
		}
		return p.flush()
	}
	documents := func(ctx context.Context, b *batch) (confirmed int, err error) {
		items := b.items
		b.items = nil // which take memory until its turn to be settled
		return len(items), p.bulk(ctx, items)
	}
	return inOrder(ctx, onTheirWay, batches, documents, func(b *batch, confirmed int) error { return p.settle(ctx, b, confirmed) })
}

func (b *batch) document(index, id string, d *document) error {
	return b.add(object{"_index": index, "_id": id, "routing": d.FileKey, "version": d.Gen, "version_type": "external_gte"}, d)
}

func (b *batch) add(action object, document any) error {
	var item bytes.Buffer
	e := json.NewEncoder(&item)
	e.SetEscapeHTML(false)
	err := errors.Join(e.Encode(object{"index": action}), e.Encode(document))
	b.items, b.size = append(b.items, bytes.Clone(item.Bytes())), b.size+item.Len()
	return err
}

// claim sets the state of a file as of the documents before, and its record, unless that is nil.
func (p *pushing) claim(st state, record *document) {
	c := claim{st, record}
	if record != nil {
		p.current.claimed += len(record.Record)
	}
	if n := len(p.current.claims); n > 0 && p.current.claims[n-1].FileKey == st.FileKey {
		if record == nil {
			c.record = p.current.claims[n-1].record
		}
		p.current.claims[n-1] = c
		return
	}
	p.current.claims = append(p.current.claims, c)
}

func (p *pushing) full() bool {
	return p.current.size+p.current.claimed >= batchBytes || len(p.current.claims) >= 500
}

func (p *pushing) flush() error {
	b := p.current
	p.current = &batch{}
	return p.put(b)
}

// settle sends what a batch claims, whose documents are confirmed.
func (p *pushing) settle(ctx context.Context, b *batch, confirmed int) error {
	var claims batch
	for i := range b.claims {
		st := &b.claims[i].state
		p.mu.Lock()
		_, bad := p.conflicts[st.FileKey]
		refused := p.refused[st.FileKey]
		p.mu.Unlock()
		if bad { // what it claims is not all there
			continue
		}
		if record := b.claims[i].record; record != nil {
			outline := *record
			outline.Record, outline.Through, outline.Sum = record.outline, 0, ""
			month := p.archive.monthly(st.Month)
			if err := cmp.Or(claims.document(month, recordID(st.FileKey), record), claims.document(month, outlineID(st.FileKey), &outline)); err != nil {
				return err
			}
		}
		st.Refused += int(refused.N)
		for _, t := range []*tally{&st.Facts.Manifest.All, &st.Facts.Manifest.Recorded} {
			if t.N > 0 {
				t.add(tally{-refused.N, -refused.Sum})
			}
		}
		if err := claims.state(p.archive, st); err != nil {
			return err
		}
	}
	if err := p.bulk(ctx, claims.items); err != nil {
		return err
	}
	p.mu.Lock()
	p.settled = append(p.settled, b.claims...)
	p.mu.Unlock()
	p.confirmed(confirmed, b.source)
	return nil
}

// bulkItem is what the engine says about one item.
type bulkItem struct {
	ID     string `json:"_id"`
	Status int    `json:"status"`
	Error  struct {
		Type, Reason string
		Cause        struct{ Reason string } `json:"caused_by"`
	} `json:"error"`
}

// again reports whether an item may be taken later.
func (i *bulkItem) again() bool {
	return i.Status == http.StatusTooManyRequests || i.Status >= 500 ||
		i.Error.Type == "shard_not_found_exception" || i.Error.Type == "cluster_block_exception"
}

// bulk sends items until each is confirmed or refused.
func (p *pushing) bulk(ctx context.Context, items [][]byte) error {
	last := p.Now()
	for try := 1; len(items) > 0; try++ {
		answer, err := p.post(ctx, items)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case isStatus(err, http.StatusRequestEntityTooLarge) && len(items) > 1:
			half := len(items) / 2
			if err := p.bulk(ctx, items[:half]); err != nil {
				return err
			}
			items, try = items[half:], 0
			continue
		case isStatus(err, http.StatusRequestEntityTooLarge):
			_, id, _ := bytes.Cut(items[0], []byte(`"_id":"`)) // it is ours
			id, _, _ = bytes.Cut(id, []byte(`"`))
			p.mu.Lock()
			defer p.mu.Unlock()
			p.refuse(&bulkItem{ID: string(id)}, "too large for the engine (http.max_content_length)")
			return nil
		case err != nil && !isTransient(err):
			return p.archive.wrap(ctx, err)
		case err == nil:
			left, rejected := p.confirm(items, answer)
			if len(left) < len(items) {
				last, try = p.Now(), 0
			}
			if items = left; len(items) == 0 {
				return nil
			}
			if err = rejected; !isTransient(err) {
				return p.archive.wrap(ctx, err)
			}
		}
		if p.patience > 0 && p.Now().Sub(last) > p.patience {
			return p.archive.wrap(ctx, err)
		}
		if err := p.archive.wait(ctx, try+1); err != nil {
			return err
		}
	}
	return nil
}

func (p *pushing) post(ctx context.Context, items [][]byte) ([]bulkItem, error) {
	var answer struct {
		Items []map[string]bulkItem `json:"items"`
	}
	ctx, stop := context.WithTimeoutCause(ctx, longestWork, ErrSilent)
	defer stop()
	if err := p.archive.once(ctx, http.MethodPost, "_bulk", bytes.Join(items, nil), &answer); err != nil {
		return nil, err
	}
	list := make([]bulkItem, 0, len(answer.Items))
	for _, item := range answer.Items {
		for _, of := range item {
			list = append(list, of)
		}
	}
	if len(list) != len(items) {
		return nil, fmt.Errorf("%w: it confirms %d of %d documents", ErrNotEngine, len(list), len(items))
	}
	return list, nil
}

// confirm counts what became of the items. It returns those to send again, and why: an error
// that is not transient if none will be taken.
func (p *pushing) confirm(items [][]byte, answer []bulkItem) (left [][]byte, rejected error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range answer {
		item := &answer[i]
		why := &StatusError{item.Status, said(item.Error.Type), said(item.Error.Reason)}
		switch {
		case item.Status < 300:
		case item.Status == http.StatusConflict:
			p.conflict(item)
		case item.again():
			p.report.Retried++
			why.Status = http.StatusTooManyRequests
			left, rejected = append(left, items[i]), why
		case item.Status == http.StatusForbidden, item.Status == http.StatusUnauthorized, item.Status == http.StatusNotFound:
			return items, why
		default:
			p.refuse(item, item.Error.Type+": "+item.Error.Reason)
		}
	}
	return left, rejected
}

// refuse notes a document that the engine will not take. The caller holds mu.
func (p *pushing) refuse(item *bulkItem, reason string) {
	if cause := item.Error.Cause.Reason; cause != "" {
		reason += " (" + cause + ")"
	}
	key, place, _ := strings.Cut(item.ID, ":")
	offset, part, _ := strings.Cut(place, ":")
	of := tally{N: 1}
	for _, text := range []string{offset, part} {
		n, _ := strconv.ParseInt(text, 10, 64) // a record has none
		of.Sum += n
	}
	of.add(p.refused[key])
	p.refused[key] = of
	p.report.Refused = append(p.report.Refused, Refusal{Document: said(item.ID), Reason: said(reason)})
}
