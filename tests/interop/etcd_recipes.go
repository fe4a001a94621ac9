// SPDX-License-Identifier: Apache-2.0

// A participant that uses the Mutex and the Election of etcd's own client for
// Go as its users do.
//
//	etcd_recipes ADDRESS TTL_S
//
// It makes a session, prints "ready", and does what the lines of standard input
// say, one after the other:
//
//	lock NAME                take the mutex; "locked KEY REVISION"
//	unlock                   "unlocked"
//	campaign NAME VALUE      stand; "elected KEY REVISION"
//	proclaim VALUE           "proclaimed"
//	resign                   "resigned"
//	observe NAME             "observed VALUE" for each value of a leader, for ever
//	count NAME TIMES LOG     TIMES: lock, write "go REVISION" to LOG, unlock;
//	                         then "counted"
//
// REVISION is the create revision of its key, which is the place in the queue.
// LOG is locked meanwhile, as by etcd_counted.py: the status is 3 if somebody
// else has it. At the end of standard input it closes its session, which gives
// back what it has.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

type participant struct {
	client   *clientv3.Client
	session  *concurrency.Session
	mutex    *concurrency.Mutex
	election *concurrency.Election
}

var ctx = context.Background()

func need(err error, what string) {
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	os.Exit(1)
}

// The create revision of a key, which Mutex keeps to itself.
func (p *participant) revision(key string) int64 {
	found, err := p.client.Get(ctx, key)
	need(err, "get "+key)
	if len(found.Kvs) == 0 {
		return 0
	}
	return found.Kvs[0].CreateRevision
}

// Blocks until it holds the mutex.
func (p *participant) lock(name string) {
	p.mutex = concurrency.NewMutex(p.session, name)
	need(p.mutex.Lock(ctx), "lock "+name)
}

func (p *participant) unlock() {
	need(p.mutex.Unlock(ctx), "unlock")
}

// Blocks until it leads.
func (p *participant) campaign(name, value string) {
	p.election = concurrency.NewElection(p.session, name)
	need(p.election.Campaign(ctx, value), "campaign "+name)
	fmt.Println("elected", p.election.Key(), p.election.Rev())
}

func (p *participant) observe(name string) {
	for found := range concurrency.NewElection(p.session, name).Observe(ctx) {
		fmt.Println("observed", string(found.Kvs[0].Value))
	}
}

// Another process that has the log locked was admitted together with us.
func (p *participant) write(path string) {
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	need(err, "open "+path)
	defer log.Close()
	if syscall.Flock(int(log.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		os.Exit(3)
	}
	_, err = fmt.Fprintln(log, "go", p.revision(p.mutex.Key()))
	need(err, "write "+path)
}

func (p *participant) count(name string, times int, log string) {
	for ; times > 0; times-- {
		p.lock(name)
		p.write(log)
		p.unlock()
	}
	fmt.Println("counted")
}

func (p *participant) run(words []string) {
	switch words[0] {
	case "lock":
		p.lock(words[1])
		fmt.Println("locked", p.mutex.Key(), p.revision(p.mutex.Key()))
	case "unlock":
		p.unlock()
		fmt.Println("unlocked")
	case "campaign":
		p.campaign(words[1], words[2])
	case "proclaim":
		need(p.election.Proclaim(ctx, words[1]), "proclaim")
		fmt.Println("proclaimed")
	case "resign":
		need(p.election.Resign(ctx), "resign")
		fmt.Println("resigned")
	case "observe":
		p.observe(words[1])
	case "count":
		times, err := strconv.Atoi(words[2])
		need(err, "count")
		p.count(words[1], times, words[3])
	default:
		need(fmt.Errorf("no such command"), words[0])
	}
}

func main() {
	var p participant

	ttl, err := strconv.Atoi(os.Args[2])
	need(err, "TTL_S")
	p.client, err = clientv3.New(clientv3.Config{Endpoints: strings.Split(os.Args[1], ",")})
	need(err, "connect")
	p.session, err = concurrency.NewSession(p.client, concurrency.WithTTL(ttl))
	need(err, "session")
	fmt.Println("ready")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		p.run(strings.Fields(input.Text()))
	}
	need(p.session.Close(), "close")
}
