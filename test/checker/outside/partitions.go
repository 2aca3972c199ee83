// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
package main

import (
	"fmt"
	"math"
	"sort"

	"github.com/anishathalye/porcupine"
)

const never = math.MaxInt64

// A partition is judged by itself: one model of one name.
type partition struct {
	title string
	model porcupine.Model
	ops   []porcupine.Operation
}

func partitionsOf(all history) []partition {
	byName := map[string]history{}
	var losses history
	for _, each := range all {
		if each.Op == "lose" {
			losses = append(losses, each)
		} else {
			byName[each.Name] = append(byName[each.Name], each)
		}
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	sort.Strings(names)
	var parts []partition
	for _, name := range names {
		var here history
		for _, each := range losses {
			if each.Name == "" || each.Name == name {
				here = append(here, each)
			}
		}
		parts = append(parts, partitionsOfName(name, byName[name], here)...)
	}
	return parts
}

func partitionsOfName(name string, all, losses history) []partition {
	var parts []partition
	add := func(title string, model porcupine.Model, ops []porcupine.Operation) {
		if len(ops) != 0 {
			parts = append(parts, partition{title + " " + name, model, ops})
		}
	}
	holds, isSemaphore := withLosses(all, losses)
	if isSemaphore {
		add("semaphore", semaphoreModel, holds)
	} else {
		add("lock", lockModel, holds)
	}
	var writes []porcupine.Operation
	for _, each := range all {
		if each.Op == "write" || each.Op == "read" {
			writes = append(writes, concurrent(each, each.Call))
		}
	}
	add("register", registerModel, writes)
	for counter, draws := range drawsOf(all, losses) {
		add(fmt.Sprintf("tokens %d of", counter), tokensModel, draws)
	}
	return parts
}

func concurrent(o operation, call int64) porcupine.Operation {
	ends := int64(never)
	if o.Return != nil {
		ends = *o.Return
	}
	return porcupine.Operation{Input: o, Call: call, Return: ends}
}

// ---- What a server loses -------------------------------------------------------------------------

// The server has granted it after this.
func admittedAfter(o operation) int64 {
	if o.Admitted != nil {
		return *o.Admitted
	}
	return o.Call
}

// A hold that was passed on within a process may have been granted before it was asked for.
func callOf(o operation) int64 {
	if admitted := admittedAfter(o); admitted < o.Call {
		return admitted
	}
	return o.Call
}

// The operations on who has it. What a server may have lost ends there: nobody can know who has it
// from then on, and only what is granted later excludes others.
func withLosses(all, losses history) (ops []porcupine.Operation, isSemaphore bool) {
	hasLeases := true
	isAcquired := map[string]bool{}
	closings := map[string]history{}
	add := func(o operation) { ops = append(ops, concurrent(o, o.Call)) }
	for _, each := range all {
		switch each.Op {
		case "set":
			isSemaphore, hasLeases = true, each.Leases
			add(each)
		case "acquire":
			isAcquired[each.Hold] = true
		case "release", "end":
			closings[each.Hold] = append(closings[each.Hold], each)
		}
	}
	// A count without leases is wrong for ever once it has been lost.
	until := int64(never)
	if !hasLeases {
		for _, each := range losses {
			until = minimum(until, each.Call)
		}
		losses = nil
	}
	for _, each := range all {
		isClosing := each.Op == "release" || each.Op == "end"
		if isClosing && !isAcquired[each.Hold] {
			add(each)
		}
		if each.Op != "acquire" || *each.Return >= until {
			continue
		}
		ops = append(ops, concurrent(each, callOf(each)))
		mine := closings[each.Hold]
		if lost, isLost := lostAt(each, mine, losses); isLost {
			add(operation{
				Op: "end", Name: each.Name, Hold: each.Hold, Call: lost, Why: "the server lost it"})
			continue
		}
		for _, closing := range mine {
			add(closing)
		}
	}
	return ops, isSemaphore
}

// When the server may have lost this hold, if that is before its end.
func lostAt(got operation, closings, losses history) (first int64, isLost bool) {
	call, ends := int64(never), int64(never)
	var keptUntil *int64
	if len(closings) != 0 {
		closing := closings[0]
		call, ends, keptUntil = closing.Call, closing.Call, closing.KeptUntil
		if closing.Return != nil {
			ends = *closing.Return
		}
	}
	first = never
	for _, each := range losses {
		at := each.Call
		if each.Keeps && keptUntil != nil {
			at = maximum(at, *keptUntil)
		}
		if admittedAfter(got) <= *each.Return && at <= ends {
			first = minimum(first, at)
		}
	}
	return minimum(first, call), first != never
}

// ---- Tokens --------------------------------------------------------------------------------------

// Those of each counter, by its place among the tokens of a hold.
func drawsOf(all, losses history) map[int][]porcupine.Operation {
	until := int64(never)
	for _, each := range losses {
		if each.TokensAnew {
			until = minimum(until, each.Call)
		}
	}
	byCounter := map[int]history{}
	for _, each := range all {
		if each.Op != "acquire" || *each.Return >= until {
			continue
		}
		for counter, token := range each.Tokens {
			if token != 0 {
				one := each
				one.Token = token
				byCounter[counter] = append(byCounter[counter], one)
			}
		}
	}
	draws := map[int][]porcupine.Operation{}
	for counter, all := range byCounter {
		draws[counter] = ranked(all)
	}
	return draws
}

func ranked(all history) []porcupine.Operation {
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return a.Token < b.Token || (a.Token == b.Token && *a.Return < *b.Return)
	})
	var draws []porcupine.Operation
	rank := 0
	for i, each := range all {
		mine := rank
		if i != 0 && each.Token == all[i-1].Token {
			// An owner that enters again goes on with the token that it has.
			if each.Owner != "" && each.Owner == all[i-1].Owner {
				continue
			}
			mine = noRank
		} else {
			rank++
		}
		one := concurrent(each, callOf(each))
		one.Input = draw{each, mine}
		draws = append(draws, one)
	}
	return draws
}

func minimum(a, b int64) int64 {
	if a < b {
		return a
	}
	return b
}

func maximum(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}
