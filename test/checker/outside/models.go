// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
package main

import (
	"hash/fnv"
	"sort"

	"github.com/anishathalye/porcupine"
)

// ---- A lock, or a semaphore ----------------------------------------------------------------------

// A member is a hold that has been granted and has not ended.
type member struct {
	hold, owner string
	shared      bool
	permits     int64
}

// Who has it, in the order of their names. The limit is that of a semaphore.
type holding struct {
	limit   int64
	members []member
}

// Two have a lock at a time if both only read, or if they are one owner that has entered again.
func excludes(a, b member) bool {
	isSameOwner := a.owner != "" && a.owner == b.owner
	return !isSameOwner && !(a.shared && b.shared)
}

func (s holding) place(hold string) (int, bool) {
	at := sort.Search(len(s.members), func(i int) bool { return s.members[i].hold >= hold })
	return at, at != len(s.members) && s.members[at].hold == hold
}

func (s holding) with(m member) (bool, holding) {
	at, isThere := s.place(m.hold)
	if isThere {
		return false, s
	}
	more := make([]member, 0, len(s.members)+1)
	more = append(append(append(more, s.members[:at]...), m), s.members[at:]...)
	return true, holding{s.limit, more}
}

func (s holding) without(hold string) (bool, holding) {
	at, isThere := s.place(hold)
	if !isThere {
		return false, s
	}
	fewer := make([]member, 0, len(s.members)-1)
	return true, holding{s.limit, append(append(fewer, s.members[:at]...), s.members[at+1:]...)}
}

func (s holding) equal(other holding) bool {
	if s.limit != other.limit || len(s.members) != len(other.members) {
		return false
	}
	for i, m := range s.members {
		if m != other.members[i] {
			return false
		}
	}
	return true
}

func (s holding) hash() uint64 {
	sum := fnv.New64a()
	for _, m := range s.members {
		sum.Write([]byte(m.hold))
		sum.Write([]byte{0})
	}
	return sum.Sum64()
}

func memberOf(o operation) member { return member{o.Hold, o.Owner, o.Shared, o.Permits} }

func lockStep(s holding, o operation) (bool, holding) {
	switch o.Op {
	case "acquire":
		wanted := memberOf(o)
		for _, each := range s.members {
			if excludes(each, wanted) {
				return false, s
			}
		}
		return s.with(wanted)
	case "release", "end":
		return s.without(o.Hold)
	}
	return false, s
}

func semaphoreStep(s holding, o operation) (bool, holding) {
	switch o.Op {
	case "acquire":
		out := o.Permits
		for _, each := range s.members {
			out += each.permits
		}
		if out > s.limit {
			return false, s
		}
		return s.with(memberOf(o))
	case "release", "end":
		return s.without(o.Hold)
	case "set":
		return true, holding{o.Permits, s.members}
	}
	return false, s
}

func modelOfHolding(step func(holding, operation) (bool, holding)) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return holding{} },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			return step(state.(holding), input.(operation))
		},
		Equal: func(a, b interface{}) bool { return a.(holding).equal(b.(holding)) },
		Hash:  func(state interface{}) uint64 { return state.(holding).hash() },
	}
}

var (
	lockModel      = modelOfHolding(lockStep)
	semaphoreModel = modelOfHolding(semaphoreStep)
)

// ---- A fenced register ---------------------------------------------------------------------------

// The highest token that it has seen, and how many writes it has taken.
type register struct{ highest, order int64 }

func registerStep(s register, o operation) (bool, register) {
	isHigh := o.Token >= s.highest
	after := register{o.Token, s.order + 1}
	switch {
	case o.Op == "read":
		return o.Order == s.order, s
	case o.Return == nil && isHigh:
		return true, after
	case o.Return == nil:
		return true, s
	case o.Taken:
		return isHigh && o.Order == after.order, after
	}
	return !isHigh, s
}

var registerModel = porcupine.Model{
	Init: func() interface{} { return register{} },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		return registerStep(state.(register), input.(operation))
	},
}

// ---- Tokens --------------------------------------------------------------------------------------

// A draw is an acquire, as the counter sees it. A token that is above the last one is legal; so all
// of them can only have been drawn in their order, and the state is how many were. That they are
// counted, and not compared, keeps Porcupine from trying each order of those who wait.
type draw struct {
	from operation
	rank int // among all tokens of the counter; none, if another one has this token
}

const noRank = -1

var tokensModel = porcupine.Model{
	Init: func() interface{} { return 0 },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		drawn := state.(int)
		return input.(draw).rank == drawn, drawn + 1
	},
}
