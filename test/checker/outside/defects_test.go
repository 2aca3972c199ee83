// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
package main

import (
	"strings"
	"testing"
	"time"
)

// All that may be, in milliseconds, by name.
const good = `
{"op":"acquire","name":"lock","hold":"a","call":0,"return":10,"tokens":[1]}
{"op":"write","name":"lock","hold":"a","token":1,"call":11,"return":12,"taken":true,"order":1}
{"op":"release","name":"lock","hold":"a","call":20,"return":22}
{"op":"acquire","name":"lock","hold":"b","call":5,"return":21,"tokens":[2]}
{"op":"write","name":"lock","hold":"b","token":2,"call":28}
{"op":"end","name":"lock","hold":"b","call":30,"why":"killed"}
{"op":"acquire","name":"lock","hold":"c","call":6,"return":31,"tokens":[3]}
{"op":"write","name":"lock","hold":"c","token":3,"call":32,"return":33,"taken":true,"order":3}
{"op":"end","name":"lock","hold":"c","call":50,"why":"over"}
{"op":"acquire","name":"lock","hold":"d","call":7,"return":55,"tokens":[5]}
{"op":"read","name":"lock","hold":"d","call":56,"return":56,"order":3}
{"op":"write","name":"lock","hold":"d","token":5,"call":57,"return":58,"taken":true,"order":4}
{"op":"write","name":"lock","hold":"c","token":3,"call":59,"return":60,"taken":false}
{"op":"end","name":"lock","hold":"d","call":70,"why":"told"}
{"op":"acquire","name":"lock","hold":"e","call":60,"return":75,"tokens":[6]}
{"op":"read","name":"lock","hold":"e","call":77,"return":77,"order":4}
{"op":"release","name":"lock","hold":"e","call":80,"return":81}

{"op":"acquire","name":"again","hold":"f1","owner":"u1","call":82,"return":84,"tokens":[7]}
{"op":"acquire","name":"again","hold":"f2","owner":"u1","call":85,"return":86,"tokens":[7]}
{"op":"release","name":"again","hold":"f1","call":88,"return":89}
{"op":"release","name":"again","hold":"f2","call":95,"return":96}
{"op":"acquire","name":"again","hold":"g","owner":"u2","call":86,"return":96,"tokens":[8]}
{"op":"release","name":"again","hold":"g","call":99,"return":100}

{"op":"acquire","name":"rw","hold":"r1","shared":true,"call":0,"return":5}
{"op":"acquire","name":"rw","hold":"r2","shared":true,"call":1,"return":6}
{"op":"release","name":"rw","hold":"r1","call":10,"return":11}
{"op":"release","name":"rw","hold":"r2","call":12,"return":13}
{"op":"acquire","name":"rw","hold":"w","call":3,"return":13,"tokens":[1]}
{"op":"release","name":"rw","hold":"w","call":20,"return":21}
{"op":"acquire","name":"rw","hold":"r3","shared":true,"call":14,"return":22}
{"op":"release","name":"rw","hold":"r3","call":30,"return":31}

{"op":"acquire","name":"lost","hold":"a","call":0,"return":2,"admitted":1,"tokens":[1]}
{"op":"lose","name":"lost","call":10,"return":14}
{"op":"acquire","name":"lost","hold":"b","call":11,"return":16,"admitted":15,"tokens":[10]}
{"op":"release","name":"lost","hold":"a","call":17,"return":18}
{"op":"acquire","name":"lost","hold":"c","call":17,"return":18,"admitted":1,"tokens":[2]}
{"op":"end","name":"lost","hold":"c","call":19,"why":"told"}
{"op":"release","name":"lost","hold":"b","call":20,"return":21}
{"op":"acquire","name":"lost","hold":"d","call":19,"return":22,"admitted":20,"tokens":[11]}
{"op":"release","name":"lost","hold":"d","call":30,"return":31}

{"op":"acquire","name":"kept","hold":"a","call":0,"return":2,"tokens":[1]}
{"op":"lose","name":"kept","call":10,"return":10,"keeps":true}
{"op":"end","name":"kept","hold":"a","call":60,"kept_until":40,"why":"told"}
{"op":"acquire","name":"kept","hold":"b","call":12,"return":45,"tokens":[2]}
{"op":"release","name":"kept","hold":"b","call":50,"return":51}

{"op":"acquire","name":"anew","hold":"a","call":0,"return":2,"tokens":[7]}
{"op":"lose","name":"anew","call":10,"return":10,"tokens_anew":true}
{"op":"end","name":"anew","hold":"a","call":11,"why":"told"}
{"op":"acquire","name":"anew","hold":"b","call":12,"return":14,"tokens":[1]}
{"op":"release","name":"anew","hold":"b","call":20,"return":21}

{"op":"acquire","name":"several","hold":"a","call":0,"return":2,"tokens":[1,5]}
{"op":"release","name":"several","hold":"a","call":3,"return":4}
{"op":"acquire","name":"several","hold":"b","call":0,"return":6,"tokens":[2,6]}
{"op":"release","name":"several","hold":"b","call":7,"return":8}

{"op":"set","name":"ten","permits":10,"call":0,"return":0}
{"op":"acquire","name":"ten","hold":"p1","permits":8,"call":1,"return":2}
{"op":"acquire","name":"ten","hold":"p2","permits":1,"call":1,"return":3}
{"op":"acquire","name":"ten","hold":"p3","permits":1,"call":1,"return":4}
{"op":"release","name":"ten","hold":"p2","call":10,"return":12}
{"op":"acquire","name":"ten","hold":"p4","permits":1,"call":5,"return":11}
{"op":"release","name":"ten","hold":"p3","call":20,"return":21}
{"op":"set","name":"ten","permits":9,"call":30,"return":31}
{"op":"release","name":"ten","hold":"p4","call":40,"return":41}
{"op":"acquire","name":"ten","hold":"p5","permits":1,"call":35,"return":42}

{"op":"set","name":"leased","permits":3,"leases":true,"call":0,"return":0}
{"op":"acquire","name":"leased","hold":"x","permits":2,"call":1,"return":2}
{"op":"acquire","name":"leased","hold":"y","permits":1,"call":1,"return":3}
{"op":"end","name":"leased","hold":"x","call":10,"why":"killed"}
{"op":"acquire","name":"leased","hold":"z","permits":2,"call":4,"return":11}
{"op":"release","name":"leased","hold":"y","call":20,"return":21}

{"op":"set","name":"counted","permits":1,"call":0,"return":0}
{"op":"acquire","name":"counted","hold":"x","permits":1,"call":1,"return":2}
{"op":"lose","name":"counted","call":10,"return":10}
{"op":"acquire","name":"counted","hold":"y","permits":1,"call":11,"return":12}
{"op":"acquire","name":"counted","hold":"z","permits":1,"call":13,"return":14}
`

// The first operation of this kind by that hold of that name.
func (h history) the(op, name, hold string) *operation {
	for i := range h {
		if h[i].Op == op && h[i].Name == name && h[i].Hold == hold {
			return &h[i]
		}
	}
	panic("there is no " + op + " of " + name + " by " + hold)
}

func (h history) without(op, name, hold string) history {
	gone := h.the(op, name, hold)
	var rest history
	for i := range h {
		if &h[i] != gone {
			rest = append(rest, h[i])
		}
	}
	return rest
}

func goodHistory(t *testing.T) history {
	t.Helper()
	all, err := read(strings.NewReader(strings.ReplaceAll(strings.TrimSpace(good), "\n\n", "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func at(ms int64) *int64 { return &ms }

// Each is an edit of what is good, and where it is to be found.
var defects = []struct {
	name  string
	title string
	edit  func(history) history
}{
	{"an overlap by 1 ms", "lock lock", func(h history) history {
		h.the("acquire", "lock", "b").Return = at(19)
		return h
	}},
	{"got 1 ms before the holder was killed", "lock lock", func(h history) history {
		h.the("acquire", "lock", "c").Return = at(29)
		return h
	}},
	{"got 1 ms before the other's validity is over", "lock lock", func(h history) history {
		h.the("acquire", "lock", "d").Return = at(49)
		return h
	}},
	{"got 1 ms before the holder was told", "lock lock", func(h history) history {
		h.the("acquire", "lock", "e").Return = at(69)
		return h
	}},
	{"a lost end", "lock lock", func(h history) history { return h.without("end", "lock", "b") }},
	{"a lost release", "lock lock", func(h history) history {
		return h.without("release", "lock", "a")
	}},
	{"a release by somebody else", "lock lock", func(h history) history {
		h.the("release", "lock", "a").Hold = "e"
		return h
	}},
	{"a release by nobody", "lock lock", func(h history) history {
		h.the("release", "lock", "e").Hold = "nobody"
		return h
	}},
	{"a second release", "lock lock", func(h history) history {
		again := *h.the("release", "lock", "a")
		again.Call, again.Return = 40, at(41)
		return append(h, again)
	}},
	{"a release before its acquire", "lock lock", func(h history) history {
		early := h.the("release", "lock", "e")
		early.Call, early.Return = 57, at(58)
		return h
	}},
	{"a hold that is granted twice", "lock lock", func(h history) history {
		again := *h.the("acquire", "lock", "e")
		again.Call, again.Return, again.Tokens = 90, at(91), nil
		return append(h, again)
	}},
	{"another owner inside beside the inner hold", "lock again", func(h history) history {
		h.the("acquire", "again", "g").Return = at(94)
		return h
	}},
	{"entered again without being the owner", "lock again", func(h history) history {
		inner := h.the("acquire", "again", "f2")
		inner.Owner, inner.Tokens = "u3", nil
		return h
	}},
	{"a writer beside a reader", "lock rw", func(h history) history {
		h.the("acquire", "rw", "w").Return = at(11)
		return h
	}},
	{"a reader beside a writer", "lock rw", func(h history) history {
		h.the("acquire", "rw", "r3").Return = at(19)
		return h
	}},
	{"a writer that is taken for a reader", "lock rw", func(h history) history {
		h.the("acquire", "rw", "r1").Shared = false
		return h
	}},
	{"an overlap of what was granted after the loss", "lock lost", func(h history) history {
		h.the("acquire", "lost", "d").Return = at(19)
		return h
	}},
	{"an overlap that a loss of another lock would excuse", "lock lost", func(h history) history {
		h.the("lose", "lost", "").Name = "another"
		return h
	}},
	{"what replicas had acknowledged is lost", "lock kept", func(h history) history {
		h.the("acquire", "kept", "b").Return = at(39)
		return h
	}},
	{"a token twice", "tokens 0 of lock", func(h history) history {
		h.the("acquire", "lock", "d").Tokens[0] = 3
		return h
	}},
	{"a token below the one before", "tokens 0 of lock", func(h history) history {
		h.the("acquire", "lock", "e").Tokens[0] = 4
		return h
	}},
	{"a token of the second part that falls", "tokens 1 of several", func(h history) history {
		h.the("acquire", "several", "b").Return = at(9)
		h.the("acquire", "several", "b").Call = 5
		h.the("acquire", "several", "b").Tokens[1] = 4
		return h
	}},
	{"an owner's token in another's hand", "tokens 0 of again", func(h history) history {
		h.the("acquire", "again", "g").Tokens[0] = 7
		return h
	}},
	{"a token that falls after a loss that keeps the counter", "tokens 0 of anew",
		func(h history) history {
			h.the("lose", "anew", "").TokensAnew = false
			return h
		}},
	{"a lower token taken", "register lock", func(h history) history {
		for i := range h {
			if h[i].Op == "write" && !h[i].Taken && h[i].Return != nil {
				h[i].Taken, h[i].Order = true, 5
			}
		}
		h.the("read", "lock", "e").Order = 5
		return h
	}},
	{"a higher token refused", "register lock", func(h history) history {
		last := h.the("write", "lock", "d")
		last.Taken, last.Order = false, 0
		h.the("read", "lock", "e").Order = 3
		return h
	}},
	{"a write that is gone", "register lock", func(h history) history {
		return h.without("write", "lock", "a")
	}},
	{"two writes in one place", "register lock", func(h history) history {
		h.the("write", "lock", "d").Order = 3
		return h
	}},
	{"an old state read", "register lock", func(h history) history {
		h.the("read", "lock", "e").Order = 3
		return h
	}},
	{"permit 11 of 10", "semaphore ten", func(h history) history {
		h.the("acquire", "ten", "p4").Return = at(9)
		return h
	}},
	{"two permits where one is left", "semaphore ten", func(h history) history {
		h.the("acquire", "ten", "p4").Permits = 2
		return h
	}},
	{"a permit given back twice", "semaphore ten", func(h history) history {
		again := *h.the("release", "ten", "p2")
		again.Call, again.Return = 22, at(23)
		return append(h, again)
	}},
	{"as many permits as before there were fewer", "semaphore ten", func(h history) history {
		return h.without("release", "ten", "p4")
	}},
	{"a lost end of a permit", "semaphore leased", func(h history) history {
		return h.without("end", "leased", "x")
	}},
	{"a permit before there are any", "semaphore leased", func(h history) history {
		set := h.the("set", "leased", "")
		set.Call, set.Return = 5, at(6)
		return h
	}},
	{"too many before the count was lost", "semaphore counted", func(h history) history {
		early := h.the("acquire", "counted", "y")
		early.Call, early.Return = 3, at(4)
		return h
	}},
}

func TestWhatIsGoodIsAccepted(t *testing.T) {
	operations, found := judge(goodHistory(t), time.Minute)
	for _, each := range found {
		t.Errorf("%s: %s\n%s", each.title, each.result, each.about)
	}
	const least = 60
	if operations < least {
		t.Errorf("%d operations were judged", operations)
	}
}

func TestEachDefectIsRejected(t *testing.T) {
	for _, each := range defects {
		t.Run(each.name, func(t *testing.T) {
			_, found := judge(each.edit(goodHistory(t)), time.Minute)
			if len(found) != 1 || found[0].title != each.title || found[0].result != "Illegal" {
				t.Errorf("not rejected in %s, but: %v", each.title, found)
			}
		})
	}
}

func TestWhatIsNoOperationIsAnError(t *testing.T) {
	for _, line := range []string{
		`{"op":"acquire","name":"a","hold":"1","call":5}`,
		`{"op":"acquire","name":"a","hold":"1","call":5,"return":4}`,
		`{"op":"release","name":"a","call":5,"return":6}`,
		`{"op":"end","hold":"1","call":5}`,
		`{"op":"took","name":"a","hold":"1","call":5}`,
		`{"op":"end","name":"a","hold":"1","call":5,"becuase":"killed"}`,
		`{"op":"end","name":"a","hold":"1","call":"5"}`,
		`{"op":"end","name":"a",`,
	} {
		if _, err := read(strings.NewReader(line)); err == nil {
			t.Errorf("accepted: %s", line)
		}
	}
}
