// Mutexes of Go that goroutines contend for: `locks_go SECONDS`. A thread of the runtime that waits has no work: it waits for no lock.
package main

import (
	"math/rand"
	"os"
	"strconv"
	"sync"
	"time"
)

func spend(busy time.Duration, sleeps bool) {
	for end := time.Now().Add(busy); time.Now().Before(end); {
	}
	if sleeps {
		time.Sleep(200 * time.Microsecond)
	}
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	var locks [2]sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for time.Now().Before(end) {
				lock := &locks[rand.Intn(2)]
				lock.Lock()
				spend(time.Duration(rand.Intn(150))*time.Microsecond, rand.Intn(3) == 0)
				lock.Unlock()
				spend(time.Duration(rand.Intn(100))*time.Microsecond, rand.Intn(3) == 0)
			}
		})
	}
	all.Wait()
}
