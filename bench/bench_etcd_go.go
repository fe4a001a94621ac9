// SPDX-License-Identifier: Apache-2.0

// The Mutex of etcd's own client for Go as it comes, asked and answering as
// bench/library.c: pair and contend, a goroutine, a connection and a session
// each.
//
//	bench_etcd_go ADDRESS KEY
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

const (
	warmUp = 50
	ttlS   = 10
)

var ctx = context.Background()

func need(err error, what string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

// ---- the clock

var clock = time.Now()

// By the monotonic clock.
func nowNs() int64 { return int64(time.Since(clock)) }

func cpuNs() int64 {
	var usage syscall.Rusage

	need(syscall.Getrusage(syscall.RUSAGE_SELF, &usage), "getrusage")
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// ---- a contender

type contender struct {
	client  *clientv3.Client
	session *concurrency.Session
	mutex   *concurrency.Mutex
}

func open(address, key string) (c contender) {
	var err error

	c.client, err = clientv3.New(clientv3.Config{
		Endpoints: []string{address}, DialTimeout: ttlS * time.Second})
	need(err, "connect")
	c.session, err = concurrency.NewSession(c.client, concurrency.WithTTL(ttlS))
	need(err, "open a session")
	c.mutex = concurrency.NewMutex(c.session, key)
	return c
}

func (c *contender) close() {
	need(c.session.Close(), "close the session")
	need(c.client.Close(), "close the client")
}

func (c *contender) lock()   { need(c.mutex.Lock(ctx), "lock") }
func (c *contender) unlock() { need(c.mutex.Unlock(ctx), "unlock") }

// ---- an answer

type result struct {
	cpu, began int64
	samples    []int64
}

func start() result { return result{cpu: cpuNs(), began: nowNs()} }

func (r *result) print(grants int) {
	fields := fmt.Sprintf("%d %d %d", cpuNs()-r.cpu, nowNs()-r.began, grants)

	fmt.Println(strings.TrimSuffix(
		fields+" "+strings.Trim(fmt.Sprint(r.samples), "[]"), " "))
}

func (c *contender) pairs(count int) {
	for i := 0; i < warmUp; i++ {
		c.lock()
		c.unlock()
	}
	r := start()
	for i := 0; i < count; i++ {
		before := nowNs()
		c.lock()
		c.unlock()
		r.samples = append(r.samples, nowNs()-before)
	}
	r.print(count)
}

// ---- a contest

// The holder of the lock writes all but releasedNs, which the next one may
// already read when Unlock() returns; Go wants that to be atomic.
type contest struct {
	result
	grants, holder int
	releasedNs     int64
	deadlineNs     int64
	ready, finish  sync.WaitGroup
	started        chan struct{}
}

func (t *contest) contend(number int, c contender) {
	defer t.finish.Done()
	c.lock()
	c.unlock()
	t.ready.Done()
	<-t.started
	for nowNs() < t.deadlineNs {
		c.lock()
		if t.holder != 0 && t.holder != number {
			t.samples = append(t.samples,
				nowNs()-atomic.LoadInt64(&t.releasedNs))
		}
		t.holder = number
		t.grants++
		atomic.StoreInt64(&t.releasedNs, nowNs())
		c.unlock()
	}
}

func compete(address, key string, clients, ms int) {
	t := contest{started: make(chan struct{})}
	all := make([]contender, clients)

	t.ready.Add(clients)
	t.finish.Add(clients)
	for i := range all {
		all[i] = open(address, key)
		go t.contend(i+1, all[i])
	}
	t.ready.Wait()
	t.result = start()
	t.deadlineNs = nowNs() + int64(ms)*int64(time.Millisecond)
	close(t.started)
	t.finish.Wait()
	t.print(t.grants)
	for i := range all {
		all[i].close()
	}
}

func main() {
	address, key := os.Args[1], os.Args[2]
	alone := open(address, key)
	input := bufio.NewScanner(os.Stdin)

	for input.Scan() {
		var word string
		var first, second int

		// The second number is not in each request.
		fmt.Sscan(input.Text(), &word, &first, &second)
		switch word {
		case "pair":
			alone.pairs(first)
		case "contend":
			compete(address, key, first, second)
		default:
			need(fmt.Errorf("expected pair or contend"), input.Text())
		}
	}
	alone.close()
}
