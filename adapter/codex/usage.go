package codex

import (
	"pigrep/adapter"
	"pigrep/internal/jsonl"
)

// readTokenCount reads the tokens of the last response. The line is repeated, and its total
// goes on when a session is resumed: a response is new if it changed the total. Files with
// usage records have the same figures there.
func (p *parser) readTokenCount(v jsonl.Value) {
	info := p.JSON.Fields(v)
	total := info.Find("total_token_usage")
	if p.JSON.Kind(total) != '{' || p.Sparse {
		return
	}
	m, hash := &p.memo, p.JSON.Hash(total)
	if hash == m.total {
		return
	}
	m.total = hash
	if m.records {
		return
	}
	from := m.turn
	if from == 0 {
		from = p.family()
	}
	p.addUsage(info.Find("last_token_usage"), mix(hash, from))
}

// readUsageRecord reads the tokens of a response, as newer versions write them.
func (p *parser) readUsageRecord() {
	all := p.payload
	p.memo.records = true
	p.addUsage(all.Find("usage"), mix(hashOf(p.JSON.String(all.Find("response_id"))), hashOf(p.JSON.Name(all.Find("turn_id")))))
}

func (p *parser) addUsage(v jsonl.Value, of uint64) {
	f := &p.Facts
	if p.JSON.Kind(v) != '{' {
		return
	}
	all := p.JSON.Fields(v)
	u := &f.Usage
	tokens := func(key string) int64 { return adapter.Tokens(&p.JSON, all.Find(key), u) }
	u.CacheRead, u.CacheWrite, u.Output = tokens("cached_input_tokens"), tokens("cache_write_input_tokens"), tokens("output_tokens")
	u.Input = max(tokens("input_tokens")-u.CacheRead-u.CacheWrite, 0)
	u.NoCost = true
	f.HasUsage, f.UsageOf = u.Tokens() > 0 || u.Unusable, max(of, 1)
	f.SubModel = p.model()
}

// model returns the provider/model of the turn, "" if no line has said it.
func (p *parser) model() string {
	c := &p.memo.context
	if c.Model == "" || c.Provider == "" {
		return c.Model
	}
	if p.modelOf != *c {
		p.modelOf, p.modelName = *c, c.Provider+"/"+c.Model
	}
	return p.modelName
}
