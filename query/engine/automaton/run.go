package automaton

import "unicode/utf8"

const (
	askEvery = 1 << 16 // bytes, or instructions followed, between two calls of Ended
	rarely   = 10      // characters for each state; if there are fewer the states do not pay
	follows  = 1 << 14 // characters that are followed without states then
)

// A pass is a search in a part of a text, in one direction.
type pass struct {
	text  []byte
	at    int  // before the next character
	end   int  // the last place where a match may end
	early bool // the first sign of a match is enough
	match int  // where the last match ended; -1 for none
	done  bool
}

// run performs a pass from the current list.
func (k *cache) run(p *pass) {
	p.match = -1
	for state := k.currentState(p); !p.done; k.ask(p) {
		if !k.backward {
			state = k.skim(p, state)
		}
		class, size := k.look(p)
		next := k.table[int(state)+int(class)]
		matched := next < 0
		if next == unknown {
			next, matched = k.step(state, class)
		}
		k.take(p, matched, size)
		switch {
		case next == unknown:
			state = k.currentState(p)
		case next == dead || next == -dead:
			p.done = true
		default:
			state = max(next, -next)
		}
	}
}

// skim reads characters forward while the table leads from state to state.
func (k *cache) skim(p *pass, state int32) int32 {
	text, i, end := p.text, p.at, min(p.end, p.at+askEvery)
	table, idle, ascii, stay := k.table, k.idle, &k.ascii, &k.stay
	for i < end {
		if state == idle {
			for i+4 <= end && stay[text[i]] && stay[text[i+1]] && stay[text[i+2]] && stay[text[i+3]] {
				i += 4
			}
			for i < end && stay[text[i]] {
				i++
			}
			if i == end {
				break
			}
		}
		c, size := text[i], 1
		var class uint32
		if c < utf8.RuneSelf {
			class = ascii[c]
		} else {
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			class = k.search(r)
		}
		next := table[int(state)+int(class)]
		if next <= dead {
			break
		}
		state = next
		i += size
	}
	k.read += i - p.at
	k.work += i - p.at
	p.at = i
	return state
}

// look returns the class of the next character and its size.
func (k *cache) look(p *pass) (class uint32, size int) {
	var r rune
	switch {
	case k.backward && p.at == 0, !k.backward && p.at == len(p.text):
		return k.end(), 0
	case k.backward:
		r, size = utf8.DecodeLastRune(p.text[:p.at])
	default:
		r, size = utf8.DecodeRune(p.text[p.at:])
	}
	return k.class(r), size
}

// take moves a pass over a character before which a match ended or not.
func (k *cache) take(p *pass, matched bool, size int) {
	k.read++
	k.work++
	if matched {
		p.match = p.at
	}
	switch {
	case p.at == p.end || matched && p.early:
		p.done = true
	case k.backward:
		p.at -= size
	default:
		p.at += size
	}
}

// ask ends a pass without a match if the search is to end.
func (k *cache) ask(p *pass) {
	if k.work < askEvery {
		return
	}
	k.work = 0
	if k.Ended != nil && k.Ended() {
		p.done, p.match = true, -1
	}
}

// currentState returns the state of the current list. Without room it forgets all states,
// and if that is too often it follows the list for a while first.
func (k *cache) currentState(p *pass) int32 {
	for !p.done {
		if state, ok := k.state(); ok {
			p.done = state == dead
			return state
		}
		pays := k.read >= rarely*len(k.keys)
		k.Matcher.forget()
		if state, ok := k.state(); ok && pays {
			return state
		}
		for n := 0; n < follows && !p.done; n++ {
			class, size := k.look(p)
			k.take(p, k.follow(class), size)
			k.ask(p)
		}
	}
	return dead
}
