// redsync over five servers, as a control of tools/endurance: how many writes of late owners a store
// takes that nobody fences. Restarts of the servers are the caller's.
package main

import (
	"encoding/json"
	"flag"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	lockredis "github.com/go-redsync/redsync/v4/redis"
)

// What a lock protects. It knows who came after whom, and takes each write.
type store struct {
	mutex                       sync.Mutex
	sections, lastWriter, stale int64
}

func (s *store) enter() int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sections++
	return s.sections
}

func (s *store) write(number int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if number < s.lastWriter {
		s.stale++
	}
	s.lastWriter = max(s.lastWriter, number)
}

func main() {
	servers := flag.String("redis", "", "HOST:PORT,HOST:PORT,...")
	wanted := flag.Int64("sections", 1000, "of all owners")
	lease := flag.Duration("lease", time.Second, "")
	stops := flag.Int("stops-one-in", 100, "sections, an owner stands still for longer than its lease")
	flag.Parse()

	stores := make([]store, 4)
	var all atomic.Int64
	var owners sync.WaitGroup
	for i := 0; i < 8; i++ {
		owners.Add(1)
		go func() {
			defer owners.Done()
			var pools []lockredis.Pool
			for _, server := range strings.Split(*servers, ",") {
				pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: server})))
			}
			by := redsync.New(pools...)
			for all.Load() < *wanted {
				key := rand.Intn(len(stores))
				held := by.NewMutex("stale:"+strconv.Itoa(key), redsync.WithExpiry(*lease))
				if held.Lock() != nil {
					continue
				}
				number := stores[key].enter()
				all.Add(1)
				if rand.Intn(*stops) == 0 {
					time.Sleep(*lease + time.Duration(rand.Intn(500))*time.Millisecond)
				}
				stores[key].write(number)
				held.Unlock()
			}
		}()
	}
	owners.Wait()
	stale := int64(0)
	for i := range stores {
		stale += stores[i].stale
	}
	json.NewEncoder(os.Stdout).Encode(map[string]int64{"sections": all.Load(), "stale": stale})
}
