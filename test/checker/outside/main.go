// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.

// Judges histories of locks, registers and semaphores with Porcupine: is there an order of all
// operations that each of these could have answered so?
//
//	outside [--timeout SECONDS] FILE...
//
// Exits 1 if a history can't have been, 2 if one can't be read or took too long.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/anishathalye/porcupine"
)

// A complaint says which partition can't have been, and where.
type complaint struct {
	title  string
	result porcupine.CheckResult
	about  string
}

func judge(all history, timeout time.Duration) (operations int, found []complaint) {
	for _, each := range partitionsOf(all) {
		operations += len(each.ops)
		// Without what it would take to draw it: that is much for a long history.
		result := porcupine.CheckOperationsTimeout(each.model, each.ops, timeout)
		if result != porcupine.Ok {
			found = append(found, complaint{each.title, result, explain(each, result, timeout)})
		}
	}
	return operations, found
}

// The operation that has to come next after the longest order found, and the last ones of that.
func explain(p partition, result porcupine.CheckResult, timeout time.Duration) string {
	if result == porcupine.Unknown {
		return "no order was found in time"
	}
	_, info := porcupine.CheckOperationsVerbose(p.model, p.ops, timeout)
	var longest []int
	for _, each := range info.PartialLinearizations()[0] {
		if len(each) > len(longest) {
			longest = each
		}
	}
	isPlaced := map[int]bool{}
	for _, id := range longest {
		isPlaced[id] = true
	}
	next := -1
	for id, each := range p.ops {
		if !isPlaced[id] && (next < 0 || each.Return < p.ops[next].Return) {
			next = id
		}
	}
	const few = 5
	var text string
	for i, id := range longest {
		if i+few >= len(longest) {
			text += fmt.Sprintf("    after %v\n", shown(p.ops[id]))
		}
	}
	return text + fmt.Sprintf("    there is no place for %v", shown(p.ops[next]))
}

func shown(o porcupine.Operation) operation {
	if one, isDraw := o.Input.(draw); isDraw {
		return one.from
	}
	return o.Input.(operation)
}

func main() {
	timeout := flag.Int("timeout", 60, "seconds for one name")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: outside [--timeout SECONDS] FILE...")
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(64)
	}
	status := 0
	for _, path := range flag.Args() {
		if now := judgeFile(path, time.Duration(*timeout)*time.Second); now > status {
			status = now
		}
	}
	os.Exit(status)
}

func judgeFile(path string, timeout time.Duration) int {
	begin := time.Now()
	all, err := readFile(path)
	if err != nil {
		fmt.Printf("%s: %v\n", path, err)
		return 2
	}
	operations, found := judge(all, timeout)
	if operations == 0 {
		fmt.Printf("%s: there is nothing to judge\n", path)
		return 2
	}
	status := 0
	for _, each := range found {
		fmt.Printf("%s: %s: %s\n%s\n", path, each.title, each.result, each.about)
		if each.result == porcupine.Unknown {
			status = 2
		} else if status == 0 {
			status = 1
		}
	}
	if status == 0 {
		fmt.Printf("%s: accepted, %d operations in %.1f s\n",
			filepath.Base(path), operations, time.Since(begin).Seconds())
	}
	return status
}
